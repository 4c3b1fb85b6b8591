package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Look-ups in virtual time. */
class PolledAddressesTest {

    private static final Duration INTERVAL = Duration.ofSeconds(5);
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final InstanceAddress PLACE = InstanceAddress.unknown(URI.create("http://orders:8080"));

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<List<InstanceAddress>> changes = new ArrayList<>();
    private Mono<List<InstanceAddress>> answer = Mono.just(addresses("a", "b"));
    private int lookups;
    private final PolledAddresses source = new PolledAddresses(
            "DNS of orders",
            PLACE,
            () -> {
                lookups++;
                return answer;
            },
            INTERVAL,
            TIMEOUT,
            time,
            () -> time.now(TimeUnit.NANOSECONDS));

    @AfterEach
    void dispose() {
        time.dispose();
    }

    private static List<InstanceAddress> addresses(String... hosts) {
        return List.of(hosts).stream()
                .map(host -> InstanceAddress.of(URI.create("http://" + host + ":8080"), 1))
                .toList();
    }

    private void start() {
        source.onChange(() -> changes.add(source.addresses()));
        source.start();
        advance(Duration.ZERO);
    }

    private void advance(Duration by) {
        time.advanceTimeBy(by);
    }

    @Test
    void hasThePlaceUntilTheFirstAnswer() {
        assertThat(source.addresses()).containsExactly(PLACE);
        assertThat(source.awaitFirst(Duration.ZERO)).isFalse();
        start();
        assertThat(source.addresses()).isEqualTo(addresses("a", "b"));
        assertThat(source.awaitFirst(Duration.ZERO)).isTrue();
        assertThat(changes).containsExactly(addresses("a", "b"));
    }

    @Test
    void followsAChangeAfterTheInterval() {
        start();
        answer = Mono.just(addresses("b", "c"));
        advance(INTERVAL.minusMillis(1));
        assertThat(source.addresses()).isEqualTo(addresses("a", "b"));
        advance(Duration.ofMillis(1));
        assertThat(source.addresses()).isEqualTo(addresses("b", "c"));
        assertThat(changes).hasSize(2);
    }

    @Test
    void ignoresTheOrderAndDuplicates() {
        start();
        answer = Mono.just(addresses("b", "a", "b"));
        advance(INTERVAL);
        assertThat(lookups).isEqualTo(2);
        assertThat(changes).hasSize(1);
    }

    @Test
    void keepsTheLastKnownAddresses() {
        start();
        List<Mono<List<InstanceAddress>>> failures = List.of(
                Mono.error(new UnknownHostException("orders")),
                Mono.just(List.of()),
                Mono.empty(),
                Mono.error(new IllegalStateException()),
                Mono.defer(() -> {
                    throw new IllegalArgumentException("malformed");
                }));
        for (int i = 0; i < failures.size(); i++) {
            answer = failures.get(i);
            advance(INTERVAL);
            assertThat(Duration.ofNanos(source.staleNanos())).isEqualTo(INTERVAL.multipliedBy(i));
            assertThat(source.addresses()).isEqualTo(addresses("a", "b"));
        }
        answer = Mono.just(addresses("c"));
        advance(INTERVAL);
        assertThat(source.addresses()).isEqualTo(addresses("c"));
        assertThat(source.staleNanos()).isZero();
    }

    @Test
    void givesALookupUpAfterTheTimeout() {
        start();
        answer = Mono.never();
        advance(INTERVAL.plus(TIMEOUT).minusMillis(1));
        assertThat(source.staleNanos()).isZero();
        advance(Duration.ofMillis(2));
        assertThat(Duration.ofNanos(source.staleNanos())).isEqualTo(Duration.ofMillis(1));
        answer = Mono.just(addresses("c"));
        advance(INTERVAL);
        assertThat(source.addresses()).isEqualTo(addresses("c"));
    }

    /** Another thread asks for the addresses while a look-up is answered before its start has returned. */
    @Test
    void goesOnLookingUpIfARefreshIsDueWhenTheAnswerArrivesAtOnce() {
        start();
        Sinks.One<List<InstanceAddress>> second = Sinks.one();
        List<Mono<List<InstanceAddress>>> answers =
                new ArrayList<>(List.of(Mono.just(addresses("a", "b")), second.asMono()));
        answer = Mono.defer(() -> {
            Mono<List<InstanceAddress>> next = answers.removeFirst();
            if (!answers.isEmpty()) {
                source.refresh();
            }
            return next;
        });
        source.refresh();
        advance(Duration.ZERO);
        assertThat(lookups).isEqualTo(3);
        second.tryEmitValue(addresses("b", "c")).orThrow();
        assertThat(source.addresses()).isEqualTo(addresses("b", "c"));
        answer = Mono.just(addresses("c"));
        advance(INTERVAL);
        assertThat(source.addresses()).isEqualTo(addresses("c"));
    }

    @Test
    void asksEverySecondWhileNoAddressIsKnown() {
        answer = Mono.error(new UnknownHostException("orders"));
        start();
        assertThat(source.awaitFirst(Duration.ZERO)).isFalse();
        assertThat(source.addresses()).containsExactly(PLACE);
        advance(Duration.ofSeconds(3));
        assertThat(lookups).isEqualTo(4);
        answer = Mono.just(addresses("a"));
        advance(Duration.ofSeconds(1));
        assertThat(source.addresses()).isEqualTo(addresses("a"));
        advance(INTERVAL.minusMillis(1));
        assertThat(lookups).isEqualTo(5);
    }

    @Test
    void refreshesAtOnceAndThenAfterTheInterval() {
        start();
        advance(Duration.ofSeconds(2));
        answer = Mono.just(addresses("c"));
        source.refresh();
        advance(Duration.ZERO);
        assertThat(source.addresses()).isEqualTo(addresses("c"));
        advance(INTERVAL.minusMillis(1));
        assertThat(lookups).isEqualTo(2);
        advance(Duration.ofMillis(1));
        assertThat(lookups).isEqualTo(3);
    }

    @Test
    void looksUpAgainIfARefreshIsAskedForDuringALookup() {
        start();
        answer = Mono.delay(Duration.ofSeconds(1), time).thenReturn(addresses("a"));
        source.refresh();
        advance(Duration.ZERO);
        source.refresh();
        source.refresh();
        answer = Mono.just(addresses("c"));
        advance(Duration.ofSeconds(1));
        assertThat(lookups).isEqualTo(3);
        assertThat(source.addresses()).isEqualTo(addresses("c"));
    }

    @Test
    void usesTheFirstAddressesOfTooMany() {
        answer = Mono.just(IntStream.range(0, 300)
                .mapToObj(i -> addresses("host-" + (1000 + i)).getFirst())
                .toList());
        start();
        assertThat(source.addresses())
                .hasSize(PolledAddresses.MAX_ADDRESSES)
                .startsWith(addresses("host-1000").getFirst())
                .endsWith(addresses("host-1255").getFirst());
    }

    @Test
    void asksAgainAfterAnActionThatFails() {
        source.onChange(() -> {
            throw new IllegalStateException("applied by a test");
        });
        source.start();
        advance(Duration.ZERO);
        advance(INTERVAL);
        assertThat(lookups).isEqualTo(2);
        assertThat(source.addresses()).isEqualTo(addresses("a", "b"));
    }

    @Test
    void endsWithItsClose() {
        start();
        source.close();
        answer = Mono.just(addresses("c"));
        source.refresh();
        advance(INTERVAL.multipliedBy(3));
        assertThat(lookups).isOne();
        assertThat(source.addresses()).isEqualTo(addresses("a", "b"));
    }

    @Test
    void ignoresAnAnswerAfterItsClose() {
        answer = Mono.delay(Duration.ofSeconds(1), time).thenReturn(addresses("c"));
        start();
        source.close();
        advance(Duration.ofSeconds(2));
        assertThat(source.addresses()).containsExactly(PLACE);
        assertThat(changes).isEmpty();
    }
}
