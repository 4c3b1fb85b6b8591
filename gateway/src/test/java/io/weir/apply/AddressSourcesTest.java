package io.weir.apply;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.BackendProperties;
import io.weir.instance.AddressSource;
import io.weir.instance.InstanceAddress;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.cloud.client.DefaultServiceInstance;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.ReactiveDiscoveryClient;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** The first addresses of several backends, in virtual time. */
class AddressSourcesTest {

    private static final Duration ANSWER_TIME = Duration.ofSeconds(2);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final AtomicLong nanos = new AtomicLong();
    private final List<String> lookups = new ArrayList<>();
    private final AddressSources sources = new AddressSources(
            () -> {
                throw new AssertionError("no name to resolve");
            },
            () -> {
                throw new AssertionError("no service to resolve");
            },
            SlowRegistry::new,
            time,
            nanos::get);

    private final class SlowRegistry implements ReactiveDiscoveryClient {

        @Override
        public String description() {
            return "a registry that takes its time";
        }

        @Override
        public Flux<ServiceInstance> getInstances(String service) {
            lookups.add(service);
            ServiceInstance found = new DefaultServiceInstance(service, service, service, 8080, false);
            return Mono.delay(ANSWER_TIME, time).thenReturn(found).flux();
        }

        @Override
        public Flux<String> getServices() {
            return Flux.empty();
        }
    }

    /** A source without an answer; a wait for it takes the longest time. */
    private static final class SilentSource implements AddressSource {

        private final List<Duration> waits;
        private final AtomicLong nanos;

        SilentSource(List<Duration> waits, AtomicLong nanos) {
            this.waits = waits;
            this.nanos = nanos;
        }

        @Override
        public List<InstanceAddress> addresses() {
            return List.of(InstanceAddress.unknown(URI.create("http://silent")));
        }

        @Override
        public boolean awaitFirst(Duration longest) {
            waits.add(longest);
            nanos.addAndGet(longest.toNanos());
            return false;
        }

        @Override
        public void onChange(Runnable action) {}

        @Override
        public void repeatChange() {}

        @Override
        public void refresh() {}

        @Override
        public void lookUpEvery(Duration interval) {}

        @Override
        public long staleNanos() {
            return 0;
        }

        @Override
        public void close() {}
    }

    @AfterEach
    void close() {
        sources.close();
    }

    private AddressSource source(String backend) {
        BackendProperties properties = new Binder(new MapConfigurationPropertySource(Map.of("discovery", backend)))
                .bindOrCreate("", BackendProperties.class);
        return sources.create(backend, properties);
    }

    private static boolean isKnown(AddressSource source) {
        return source.addresses().getFirst().isKnown();
    }

    @Test
    void looksUpTheAddressesOfAllBackendsAtTheSameTime() {
        List<AddressSource> created =
                Stream.of("orders", "stock", "users").map(this::source).toList();

        assertThat(lookups).containsExactly("orders", "stock", "users");
        assertThat(created).noneMatch(AddressSourcesTest::isKnown);

        time.advanceTimeBy(ANSWER_TIME);

        assertThat(created).allMatch(AddressSourcesTest::isKnown);
        // All have answered: the wait ends at once, although the clock stands still.
        sources.awaitFirst(created);
        created.forEach(AddressSource::close);
    }

    @Test
    void waitsForAllSilentBackendsNoLongerThanForOne() {
        List<Duration> waits = new ArrayList<>();

        sources.awaitFirst(Stream.generate(() -> new SilentSource(waits, nanos))
                .limit(3)
                .map(AddressSource.class::cast)
                .toList());

        assertThat(waits).containsExactly(Duration.ofSeconds(5), Duration.ZERO, Duration.ZERO);
    }
}
