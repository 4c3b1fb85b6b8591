package io.weir.cluster;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The number of gateways, counted by DNS.
 *
 * <p>It resolves a name with an address for each gateway, reports a changed number to its listener, and
 * resolves the name again one refresh interval after the answer. So a change in DNS is followed at the next
 * refresh. A failed lookup keeps the number. No failure ends the refreshes. If the listener fails, it is
 * notified again at the next refresh.
 */
// Concurrency: all state is confined to the resolver's thread, except the figures that other threads read.
public final class GatewayCount implements AutoCloseable {

    /** Resolves the addresses of all gateways. */
    interface Dns extends AutoCloseable {

        /** The thread on which lookups complete. */
        EventExecutor thread();

        /** Looks up the addresses: one per gateway, or one per gateway and address family. */
        Future<List<InetAddress>> addresses();

        @Override
        void close();
    }

    private static final Logger log = LoggerFactory.getLogger(GatewayCount.class);

    private final String name;
    private final Duration refreshInterval;
    private final IntConsumer listener;
    private final Dns dns;
    private final CountDownLatch firstAnswer = new CountDownLatch(1);
    private final AtomicLong failures = new AtomicLong();
    private volatile int gateways;
    /** The number that the listener has accepted last; 0: none. */
    private int reported;
    /** Whether the last lookup failed. */
    private boolean isLookupFailing;
    /** Whether the last notification failed. */
    private boolean isListenerFailing;

    /**
     * Starts to count, and blocks until the first lookup has succeeded or failed.
     *
     * @param name the name to resolve
     * @param listener receives each changed number, on a thread of this object
     */
    public GatewayCount(String name, ClusterProperties properties, IntConsumer listener) {
        this(name, properties.refreshInterval(), listener, new ClusterDns(name, properties.dnsServer()));
        awaitFirst();
    }

    /** Starts to count, without blocking. */
    GatewayCount(String name, Duration refreshInterval, IntConsumer listener, Dns dns) {
        this.name = name;
        this.refreshInterval = refreshInterval;
        this.listener = listener;
        this.dns = dns;
        dns.thread().execute(this::lookUp);
    }

    /** The number of gateways in the last successful lookup; 0: there was none yet. */
    public int gateways() {
        return gateways;
    }

    /** The number of failed lookups and of failed notifications. */
    public long failures() {
        return failures.get();
    }

    @Override
    public void close() {
        dns.close();
    }

    private void awaitFirst() {
        try {
            if (!firstAnswer.await(ClusterDns.QUERY_TIMEOUT.toMillis() * 2, TimeUnit.MILLISECONDS)) {
                log.warn("DNS lookup of {} has no answer yet", name);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void lookUp() {
        Future<List<InetAddress>> lookup;
        try {
            lookup = dns.addresses();
        } catch (RuntimeException e) {
            // The resolver rejects a malformed name before it sends a query.
            lookup = dns.thread().newFailedFuture(e);
        }
        lookup.addListener((Future<List<InetAddress>> answer) -> {
            try {
                if (answer.isSuccess()) {
                    succeeded(count(answer.getNow()));
                } else {
                    failed(answer.cause());
                }
            } finally {
                firstAnswer.countDown();
                EventExecutor thread = dns.thread();
                if (!thread.isShuttingDown()) {
                    var _ = thread.schedule(this::lookUp, refreshInterval.toNanos(), TimeUnit.NANOSECONDS);
                }
            }
        });
    }

    private void succeeded(int count) {
        isLookupFailing = false;
        if (count != gateways) {
            log.info("{} gateways share the limits of scope cluster (before: {})", count, gateways);
            gateways = count;
        }
        try {
            if (count != reported) {
                listener.accept(count);
                reported = count;
            }
            isListenerFailing = false;
        } catch (RuntimeException e) {
            failures.incrementAndGet();
            if (!isListenerFailing) {
                isListenerFailing = true;
                log.error("Dividing the limits of scope cluster among {} gateways failed; retrying", count, e);
            }
        }
    }

    private void failed(Throwable cause) {
        failures.incrementAndGet();
        if (!isLookupFailing) {
            isLookupFailing = true;
            log.warn("DNS lookup of {} failed ({}); keeping {} gateways", name, cause.getMessage(), gateways);
        }
    }

    /** Counts a gateway with addresses of both families once. */
    private static int count(List<InetAddress> addresses) {
        Set<InetAddress> distinct = new HashSet<>(addresses);
        int ipv4 =
                (int) distinct.stream().filter(Inet4Address.class::isInstance).count();
        return Math.max(ipv4, distinct.size() - ipv4);
    }
}
