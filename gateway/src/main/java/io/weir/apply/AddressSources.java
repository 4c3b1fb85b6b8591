package io.weir.apply;

import io.netty.resolver.AddressResolver;
import io.netty.resolver.dns.DnsNameResolver;
import io.weir.config.BackendProperties;
import io.weir.instance.AddressSource;
import io.weir.instance.DnsLookup;
import io.weir.instance.InstanceAddress;
import io.weir.instance.PolledAddresses;
import io.weir.instance.SrvLookup;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.client.discovery.ReactiveDiscoveryClient;
import org.springframework.util.function.SingletonSupplier;
import reactor.core.scheduler.Scheduler;

/** Creates the sources of the backends' addresses: the configured list, DNS, or Spring Cloud's discovery. */
public final class AddressSources implements AutoCloseable {

    /** A look-up without an answer has failed after this time: two queries of DNS. */
    private static final Duration LOOKUP_TIMEOUT = Duration.ofSeconds(10);

    /** The wait for the first addresses of all new backends together. */
    private static final Duration FIRST_TIMEOUT = Duration.ofSeconds(5);

    private final SingletonSupplier<AddressResolver<InetSocketAddress>> resolver;
    private final SingletonSupplier<DnsNameResolver> records;
    private final Supplier<@Nullable ReactiveDiscoveryClient> discovery;
    private final Scheduler scheduler;
    private final LongSupplier nanoClock;
    private final Duration firstTimeout;
    private volatile boolean hasResolver;
    private volatile boolean hasRecords;

    /**
     * Sources for a gateway.
     *
     * @param resolver creates the resolver of names, without a cache; used only where a name needs it
     * @param records creates the resolver of services, without a cache; used only where a service needs it
     * @param discovery finds the discovery client; null: there is none
     * @param scheduler runs the look-ups and the changes that follow; its threads may block
     * @param nanoClock {@link System#nanoTime}, except in tests
     */
    public AddressSources(
            Supplier<AddressResolver<InetSocketAddress>> resolver,
            Supplier<DnsNameResolver> records,
            Supplier<@Nullable ReactiveDiscoveryClient> discovery,
            Scheduler scheduler,
            LongSupplier nanoClock) {
        this(resolver, records, discovery, scheduler, nanoClock, FIRST_TIMEOUT);
    }

    /** Sources with another wait for the first addresses. */
    AddressSources(
            Supplier<AddressResolver<InetSocketAddress>> resolver,
            Supplier<DnsNameResolver> records,
            Supplier<@Nullable ReactiveDiscoveryClient> discovery,
            Scheduler scheduler,
            LongSupplier nanoClock,
            Duration firstTimeout) {
        this.nanoClock = nanoClock;
        this.firstTimeout = firstTimeout;
        this.resolver = SingletonSupplier.of(() -> {
            hasResolver = true;
            return resolver.get();
        });
        this.records = SingletonSupplier.of(() -> {
            hasRecords = true;
            return records.get();
        });
        this.discovery = discovery;
        this.scheduler = scheduler;
    }

    /** Creates the source of a backend's addresses, and starts its first look-up. */
    AddressSource create(String name, BackendProperties properties) {
        String service = properties.discovery();
        URI uri = properties.uri();
        if (service != null) {
            // A name of a backend is also a name of a host.
            InstanceAddress placeholder = InstanceAddress.unknown(URI.create("http://" + name));
            return SrvLookup.appliesTo(service)
                    ? polled("DNS lookup of backend " + name, placeholder, srvLookup(service), properties)
                    : polled("Discovery of backend " + name, placeholder, discoveryLookup(name, service), properties);
        }
        if (uri != null && DnsLookup.appliesTo(uri.getHost())) {
            DnsLookup lookup = new DnsLookup(uri, resolver.obtain());
            return polled("DNS lookup of backend " + name, InstanceAddress.unknown(uri), lookup, properties);
        }
        return AddressSource.of(listed(name, properties));
    }

    private SrvLookup srvLookup(String service) {
        return new SrvLookup(service, records.obtain(), resolver.obtain());
    }

    private DiscoveryLookup discoveryLookup(String name, String service) {
        ReactiveDiscoveryClient client = discovery.get();
        if (client == null) {
            throw new IllegalStateException(
                    "weir.backends." + name + ".discovery: " + service + " (expected: a discovery client;"
                            + " spring.cloud.discovery.enabled or spring.cloud.discovery.reactive.enabled is false)");
        }
        return new DiscoveryLookup(client, service);
    }

    private static List<InstanceAddress> listed(String name, BackendProperties properties) {
        List<InstanceAddress> listed = properties.addresses().stream()
                .map(instance -> InstanceAddress.of(instance.uri(), instance.weight(), instance.backup()))
                .toList();
        if (listed.isEmpty()) {
            throw new IllegalArgumentException(
                    "weir.backends." + name + ": no address (expected: uri, instances or discovery)");
        }
        return listed;
    }

    private AddressSource polled(
            String subject, InstanceAddress placeholder, PolledAddresses.Lookup lookup, BackendProperties properties) {
        return new PolledAddresses(
                        subject,
                        placeholder,
                        lookup,
                        properties.resolveInterval(),
                        LOOKUP_TIMEOUT,
                        scheduler,
                        nanoClock)
                .start();
    }

    /** Whether two versions of a backend have the same source. The interval of its look-ups may differ. */
    static boolean isSame(BackendProperties one, BackendProperties other) {
        return Objects.equals(one.uri(), other.uri())
                && Objects.equals(one.instances(), other.instances())
                && Objects.equals(one.discovery(), other.discovery());
    }

    /**
     * Waits for the first answers, a bounded time for all together. A source without an answer has no
     * addresses yet.
     */
    void awaitFirst(Collection<AddressSource> sources) {
        long end = nanoClock.getAsLong() + firstTimeout.toNanos();
        sources.forEach(source -> source.awaitFirst(Duration.ofNanos(Math.max(0, end - nanoClock.getAsLong()))));
    }

    @Override
    public void close() {
        scheduler.dispose();
        if (hasResolver) {
            resolver.obtain().close();
        }
        if (hasRecords) {
            records.obtain().close();
        }
    }
}
