package io.weir.body;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.test.publisher.TestPublisher;

class RelayTest {

    private static final long LIMIT = 10;
    private static final int ROUNDS = 100_000;
    private static final long WAIT_NANOS = 1_000;

    private final AtomicLong clock = new AtomicLong(1_000);
    private final TestPublisher<OwnedBuffer> source = TestPublisher.create();
    private final List<@Nullable Throwable> ended = new ArrayList<>();
    private final Relay relay = new Relay(source, LIMIT, this::passEnd, clock::get);
    private final Sink sink = new Sink();

    @Test
    void separatesTheTimeOfTheSourceFromTheTimeOfTheSink() {
        relay.subscribe(sink);
        sink.request(1);
        clock.addAndGet(5);
        assertThat(relay.isWaitingForSource()).isTrue();
        assertThat(relay.sourceNanos(clock.get())).isEqualTo(5);

        source.next(bytes(1));
        clock.addAndGet(7);
        assertThat(relay.isWaitingForSource()).isFalse();
        assertThat(relay.sinkNanos(clock.get())).isEqualTo(7);
        assertThat(relay.sourceNanos(clock.get())).isEqualTo(5);

        sink.request(1);
        source.complete();
        assertThat(relay.bytes()).isEqualTo(1);
        assertThat(ended).hasSize(1).containsOnlyNulls();
    }

    @Test
    void keepsTheTimeOfTheSinkIfTheSourceEndsWithoutDemand() {
        relay.subscribe(sink);
        sink.request(1);
        clock.addAndGet(5);
        source.next(bytes(1));
        clock.addAndGet(7);

        source.complete();
        clock.addAndGet(11);

        assertThat(relay.sinkNanos(clock.get())).isEqualTo(7);
        assertThat(relay.sourceNanos(clock.get())).isEqualTo(5);
        relay.request(1);
        assertThat(relay.sinkNanos(clock.get())).isEqualTo(7);
    }

    @Test
    void isNotIdleBeforeItsSubscription() {
        assertThat(relay.lastNanos()).isEqualTo(Long.MIN_VALUE);

        relay.subscribe(sink);
        assertThat(relay.lastNanos()).isEqualTo(clock.get());
    }

    @Test
    void failsABodyOverItsLimit() {
        relay.subscribe(sink);
        sink.request(2);
        source.next(bytes((int) LIMIT));
        OwnedBuffer excess = bytes(1);
        source.next(excess);

        assertThat(ended).hasSize(1).hasOnlyElementsOfType(Relay.TooLarge.class);
        assertThat(sink.failures).hasSize(1);
        assertThat(excess.buffer().refCnt()).isZero();
        source.assertCancelled();
    }

    @Test
    void dropsSignalsAfterItsStop() {
        relay.subscribe(sink);
        sink.request(1);
        assertThat(relay.stop()).isTrue();
        source.assertCancelled();
        OwnedBuffer late = bytes(1);
        relay.onNext(late);
        relay.onError(new IllegalStateException("late"));

        assertThat(late.buffer().refCnt()).isZero();
        assertThat(ended).isEmpty();
        assertThat(sink.failures).isEmpty();
    }

    @Test
    void hasNothingToStopBeforeItsSubscription() {
        assertThat(relay.stop()).isFalse();
    }

    @Test
    void keepsTheEndUntilTheListenerPassesItOn() {
        Relay held = new Relay(source, LIMIT, (of, failure) -> ended.add(failure), clock::get);
        held.subscribe(sink);
        source.complete();
        assertThat(held.hasEnded()).isTrue();
        assertThat(sink.isDisposed()).isFalse();

        held.passEnd(null);
        assertThat(sink.isDisposed()).isTrue();
    }

    /** The last buffer that the sink has asked for meets the next demand of another event loop. */
    @Test
    void countsNoTimeOfTheSinkIfItsDemandMeetsABuffer() throws Exception {
        long wrong = race(1, (raced, isOver) -> {
            raced.onNext(bytes(1));
            await(isOver);
            return raced.sinkNanos(clock.get()) == 0;
        });
        assertThat(wrong).isZero();
    }

    /** The exchange reads the times of an upload while demand returns on the backend's event loop. */
    @Test
    void keepsTheTimeOfTheSinkWhileItsDemandReturns() throws Exception {
        long wrong = race(0, (raced, isOver) -> {
            boolean isKept = true;
            while (!isOver.getAsBoolean()) {
                isKept &= raced.sinkNanos(clock.get()) == WAIT_NANOS;
            }
            return isKept;
        });
        assertThat(wrong).isZero();
    }

    /** The part of one thread while another one requests a buffer. Returns whether the times are right. */
    private interface Round extends BiFunction<Relay, BooleanSupplier, Boolean> {}

    /**
     * Plays many rounds, each with a relay that was subscribed to some time ago.
     *
     * @param demand the demand before the time passes
     * @return the rounds with a fault
     */
    private long race(int demand, Round round) throws InterruptedException {
        AtomicReference<Relay> shared = new AtomicReference<>();
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger asked = new AtomicInteger();
        Thread other = Thread.ofPlatform().start(() -> {
            for (int i = 1; i <= ROUNDS; i++) {
                int present = i;
                await(() -> begun.get() >= present);
                shared.get().request(1);
                asked.set(present);
            }
        });
        long wrong = 0;
        for (int i = 1; i <= ROUNDS; i++) {
            int present = i;
            Relay raced = new Relay(Flux.never(), LIMIT, (of, failure) -> {}, clock::get);
            raced.subscribe(new Sink());
            if (demand > 0) {
                raced.request(demand);
            }
            clock.addAndGet(WAIT_NANOS);
            shared.set(raced);
            begun.set(present);
            wrong += round.apply(raced, () -> asked.get() >= present) ? 0 : 1;
        }
        other.join();
        return wrong;
    }

    private static void await(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            Thread.onSpinWait();
        }
    }

    private void passEnd(Relay of, @Nullable Throwable failure) {
        ended.add(failure);
        of.passEnd(failure);
    }

    private static OwnedBuffer bytes(int count) {
        return new OwnedBuffer(Unpooled.wrappedBuffer(new byte[count]));
    }

    /** A sink whose demand the test sets. */
    private static final class Sink extends BaseSubscriber<ByteBuf> {

        private final List<Throwable> failures = new ArrayList<>();

        @Override
        protected void hookOnSubscribe(org.reactivestreams.Subscription subscription) {}

        @Override
        protected void hookOnNext(ByteBuf buffer) {
            buffer.release();
        }

        @Override
        protected void hookOnError(Throwable failure) {
            failures.add(failure);
        }
    }
}
