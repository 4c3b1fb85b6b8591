package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import io.weir.ratelimit.CallsPerKey;
import io.weir.testing.Leaks;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The limit on the calls of one caller within an exchange: where its place is taken, and given back. */
@ExtendWith(Leaks.class)
class CallsPerKeyCheckTest {

    private final ExchangeFixture fixture = new ExchangeFixture().withCallsPerKey(2, true);
    private final CallsPerKey calls = Objects.requireNonNull(fixture.callsPerKey);

    /** Other calls of the caller take its places. */
    private void fill() {
        calls.tryEnter(fixture.caller.address);
        calls.tryEnter(fixture.caller.address);
    }

    private void empty() {
        calls.leave(fixture.caller.address);
        calls.leave(fixture.caller.address);
    }

    /** The places that the exchange holds. */
    private int held() {
        int free = 0;
        while (calls.tryEnter(fixture.caller.address)) {
            free++;
        }
        for (int i = 0; i < free; i++) {
            calls.leave(fixture.caller.address);
        }
        return 2 - free;
    }

    @Test
    void refusesACallerThatHoldsAsManyAsItMay() {
        fill();

        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
        assertThat(fixture.record().detail()).isEqualTo("the caller is at its limit (max-concurrent-per-key)");
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.limit.started).as("samples of the limit").isZero();
        assertThat(calls.refused()).isEqualTo(1);
        assertThat(held()).as("of the other calls").isEqualTo(2);
        empty();
        fixture.assertEndedCleanly();
    }

    @Test
    void refusesNoOtherCaller() {
        fill();
        String greedy = fixture.caller.address;
        fixture.caller.address = "192.0.2.9";

        fixture.start();
        assertThat(fixture.attempts).hasSize(1);
        fixture.finish();

        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(calls.refused()).isZero();
        fixture.caller.address = greedy;
        empty();
        fixture.assertEndedCleanly();
    }

    /** The end of a call that holds a place. */
    enum End {
        ANSWER(ExchangeFixture::finish),
        FAILURE(fixture -> fixture.attempt().fails()),
        BROKEN_ANSWER(fixture -> fixture.attempt().begins(200).fails()),
        DEADLINE(fixture -> fixture.advance(ExchangeFixture.DEADLINE)),
        CALLER_LEAVES(fixture -> fixture.exchange().callerLeft()),
        SHUTDOWN(fixture -> {
            fixture.exchange().shutDown();
            fixture.channel.runPendingTasks();
        });

        private final Consumer<ExchangeFixture> event;

        End(Consumer<ExchangeFixture> event) {
            this.event = event;
        }
    }

    @ParameterizedTest
    @EnumSource
    void givesThePlaceBackAtEachEnd(End end) {
        fixture.start();
        fixture.attempt().connects();
        assertThat(held()).isEqualTo(1);

        end.event.accept(fixture);

        assertThat(held()).isZero();
        fixture.assertEndedCleanly();
    }

    @ParameterizedTest
    @EnumSource(names = {"DEADLINE", "CALLER_LEAVES", "SHUTDOWN"})
    void holdsThePlaceWhileItWaitsForAPermit(End end) {
        fixture.takePermit().start();
        assertThat(fixture.attempts).isEmpty();
        assertThat(held()).isEqualTo(1);

        end.event.accept(fixture);

        assertThat(held()).isZero();
        fixture.freePermit();
        fixture.assertEndedCleanly();
    }

    @Test
    void givesThePlaceBackOfARequestThatIsRefusedAfterwards() {
        fixture.bulkhead.resize(1, 0);
        fixture.takePermit().start();

        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
        assertThat(fixture.record().detail()).isNull();
        fixture.freePermit();
        fixture.assertEndedCleanly();
    }

    @Test
    void countsNoRequestThatTheBreakerRefuses() {
        fill();
        fixture.health.operator().forceOpen();

        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(calls.refused()).isZero();
        fixture.health.operator().release();
        empty();
        fixture.assertEndedCleanly();
    }

    @Test
    void givesThePlaceBackBetweenTwoAttempts() {
        fixture.withRetry().start();
        fixture.attempt().fails();
        assertThat(held()).isZero();

        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(fixture.attempts).hasSize(2);
        assertThat(held()).isEqualTo(1);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void endsWithTheKnownResultIfTheRetryFindsNoPlace() {
        fixture.withRetry().start();
        fixture.attempt().begins(503).answers();
        fill();

        fixture.advance(ExchangeFixture.BACKOFF);

        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.caller.events()).isEqualTo("answer 503");
        fixture.finish();
        empty();
        fixture.assertEndedCleanly();
    }

    @Test
    void holdsThePlaceOfAStreamUntilItEnds() {
        fixture.withStreamRoute().start();
        fixture.attempt().begins(200);
        fixture.advance(Duration.ofSeconds(10));
        assertThat(held()).isEqualTo(1);

        fixture.finish();

        fixture.assertEndedCleanly();
    }

    @Test
    void admitsAndCountsWhatItWouldRefuseIfItIsNotEnforced() {
        ExchangeFixture dryRun = new ExchangeFixture().withCallsPerKey(1, false);
        CallsPerKey counted = Objects.requireNonNull(dryRun.callsPerKey);
        counted.tryEnter(dryRun.caller.address);

        dryRun.start();

        assertThat(dryRun.attempts).hasSize(1);
        assertThat(dryRun.observer.wouldRefuse).containsExactly(Reason.BULKHEAD_FULL);
        assertThat(counted.refused()).isZero();
        dryRun.finish();
        counted.leave(dryRun.caller.address);
        dryRun.assertEndedCleanly();
    }

    @Test
    void doesNotBoundWithoutALimit() {
        ExchangeFixture without = new ExchangeFixture().start();

        without.finish();

        assertThat(without.outcome()).isEqualTo("200");
        without.assertEndedCleanly();
    }
}
