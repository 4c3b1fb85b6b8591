package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** The table of state and event, in virtual time. */
class HealthTest {

    private static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long SECONDS = TimeUnit.SECONDS.toNanos(1);
    private static final long FAST = 20 * MILLIS;
    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private final BackendFailure reset = new BackendFailure("connection-lost");

    private long now = SECONDS;
    private final CountingPermits permits = new CountingPermits();
    private final Health health = health(settings(DEADLINE, true));

    private Health health(HealthSettings settings) {
        return new Health("orders", settings, permits, () -> now, () -> 0.5);
    }

    private static HealthSettings settings(Duration deadline, boolean enforce) {
        return settings(
                deadline,
                enforce,
                100,
                null,
                new RecoveryProperties(null, Duration.ofMillis(100), 5, Duration.ofSeconds(30), null));
    }

    private static HealthSettings settings(
            Duration deadline,
            boolean enforce,
            float slowRate,
            @Nullable Duration slowDuration,
            RecoveryProperties recovery) {
        return new HealthSettings(
                new CircuitBreakerProperties(
                        50,
                        slowRate,
                        slowDuration,
                        SlidingWindowType.COUNT_BASED,
                        null,
                        null,
                        5,
                        null,
                        5,
                        Set.of(500),
                        Set.of(14),
                        enforce),
                recovery,
                deadline.toNanos());
    }

    // ---------------------------------------------------------------- closed

    @Test
    void opensWhenHalfOfAtLeastTwentyCallsFail() {
        succeed(10);
        fail(9);
        assertThat(health.state()).isEqualTo(State.CLOSED);

        fail(1);

        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.why()).isEqualTo("failing, 10 of 20 calls failed: connection-lost");
        assertThat(health.permits(now)).isFalse();
        assertThat(health.enter(now, true)).isNull();
    }

    @Test
    void staysClosedWhileLessThanHalfOfTheLastHundredFail() {
        for (int i = 0; i < 1000; i++) {
            succeed(7);
            fail(3);
        }
        assertThat(health.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void forgetsResultsThatAreOlderThanAMinute() {
        for (int i = 0; i < 100; i++) {
            fail(1);
            now += 60 * SECONDS / 18;
        }
        assertThat(health.state()).as("at most nineteen failures a minute").isEqualTo(State.CLOSED);

        fail(3);

        assertThat(health.state()).as("twenty within a minute").isEqualTo(State.OPEN);
    }

    @Test
    void doesNotOpenOnSlowAnswersByDefault() {
        for (int i = 0; i < 200; i++) {
            health.succeeded(enter(), DEADLINE.toNanos() - MILLIS, now);
        }
        assertThat(health.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void opensOnSlowAnswersWhereAThresholdIsSet() {
        health.configure(settings(
                DEADLINE,
                true,
                50,
                Duration.ofMillis(400),
                new RecoveryProperties(null, Duration.ofMillis(100), 5, Duration.ofSeconds(30), null)));
        for (int i = 0; i < 20; i++) {
            health.succeeded(enter(), 400 * MILLIS, now);
        }
        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.why()).isEqualTo("slow, 20 of 20 calls took 0.4 s or longer");
    }

    @Test
    void opensWhenFiveCallsStallSinceTheLastAnswer() {
        List<Generation> calls = enter(12);
        long sentAt = now;
        now += SECONDS;
        for (int i = 0; i < 4; i++) {
            stalled(calls.get(i), sentAt, now);
        }
        assertThat(health.state()).isEqualTo(State.CLOSED);

        stalled(calls.get(4), sentAt, now);

        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.why()).isEqualTo("stalled, no answer for 1.0 s, 12 calls unanswered");
    }

    @Test
    void anyAnswerEndsAStall() {
        List<Generation> calls = enter(20);
        long sentAt = now;
        now += SECONDS;
        for (int i = 0; i < 4; i++) {
            stalled(calls.get(i), sentAt, now);
        }
        health.answered(calls.get(4), now);
        for (int i = 5; i < 20; i++) {
            stalled(calls.get(i), sentAt, now);
        }
        assertThat(health.state()).as("the calls were sent before the answer").isEqualTo(State.CLOSED);

        long later = now + MILLIS;
        for (int i = 0; i < 5; i++) {
            stalled(calls.get(i), later, later + SECONDS);
        }
        assertThat(health.state()).isEqualTo(State.OPEN);
    }

    @Test
    void stallsWithFewerCallsWhereTheLimitIsLower() {
        permits.limit = 2;
        List<Generation> calls = enter(2);
        stalled(calls.get(0), now, now + SECONDS);
        assertThat(health.state()).isEqualTo(State.CLOSED);

        stalled(calls.get(1), now, now + SECONDS);

        assertThat(health.state()).isEqualTo(State.OPEN);
    }

    @Test
    void countsCallsOfBeforeTheLastAnswerOnceThatIsAsOldIfNoPermitIsFree() {
        permits.limit = 10;
        List<Generation> calls = enter(10);
        long sentAt = now;
        now += SECONDS - MILLIS;
        answerOne(calls);
        long answeredAt = now;
        enter();
        now += MILLIS;
        calls.forEach(call -> stalled(call, sentAt, now));
        assertThat(health.state()).as("the last answer is recent").isEqualTo(State.CLOSED);

        now = answeredAt + SECONDS;
        for (int i = 0; i < 4; i++) {
            judgeAgain(calls.get(i), sentAt, sentAt, now - SECONDS);
        }
        judgeAgain(calls.get(0), sentAt, answeredAt, now - SECONDS);
        assertThat(health.state()).as("no call counts twice").isEqualTo(State.CLOSED);
        judgeAgain(calls.get(4), sentAt, sentAt, now - SECONDS);

        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.why()).isEqualTo("stalled, no answer for 1.0 s, 10 calls unanswered");
        assertThat(permits.givenBack).isEqualTo(10);
    }

    @Test
    void countsNoCallOfBeforeTheLastAnswerWhileAPermitIsFree() {
        permits.limit = 11;
        List<Generation> calls = enter(10);
        long sentAt = now;
        now += SECONDS;
        answerOne(calls);
        enter();
        now += SECONDS;
        calls.forEach(call -> judgeAgain(call, sentAt, sentAt, now - SECONDS));
        assertThat(health.state()).as("a later call can be sent").isEqualTo(State.CLOSED);

        Generation last = enter();
        stalled(last, now - SECONDS, now);

        assertThat(health.state()).as("none can be sent any more").isEqualTo(State.OPEN);
    }

    @Test
    void anAnswerPostponesTheEvidenceOfEarlierCalls() {
        permits.limit = 2;
        List<Generation> calls = enter(2);
        long sentAt = now;
        for (int i = 0; i < 100; i++) {
            now += SECONDS / 2;
            health.answered(calls.getFirst(), now);
            calls.forEach(call -> judgeAgain(call, sentAt, sentAt, now - SECONDS));
        }
        assertThat(health.state()).isEqualTo(State.CLOSED);
    }

    // ---------------------------------------------------------------- open

    @Test
    void givesThePermitsOfHangingCallsBackOnce() {
        List<Generation> calls = enter(7);
        Generation left = calls.removeLast();
        assertThat(left.leave()).as("its caller gives the permit back").isTrue();

        open();

        assertThat(permits.givenBack).isEqualTo(6);
        calls.forEach(call -> assertThat(call.leave()).isFalse());
        assertThat(permits.givenBack).isEqualTo(6);
    }

    @Test
    void freesNoPermitsAndSetsNoLimitIfItIsNotEnforced() {
        health.configure(settings(DEADLINE, false));
        Generation call = enter();
        open();
        assertThat(permits.givenBack).isZero();
        assertThat(call.leave()).isTrue();

        health.probes().answered(probe(), now);
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);
        assertThat(health.caps().maxCalls()).isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void halfOpensWhenAStalledCallIsAnswered() {
        Generation stalled = enter();
        open();

        health.succeeded(stalled, SECONDS, now);

        assertThat(health.state()).isEqualTo(State.HALF_OPEN);
    }

    @Test
    void staysOpenIfACallSentBeforeTheFailuresIsAnswered() {
        Generation sentBefore = enter();
        fail(20);

        health.succeeded(sentBefore, FAST, now);

        assertThat(health.state()).isEqualTo(State.OPEN);
    }

    @Test
    void staysOpenAfterFailedProbes() {
        open();
        for (int i = 0; i < 100; i++) {
            health.probes().failed(probe());
        }
        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.probes().underWay()).isZero();
    }

    @Test
    void countsRefusalsAsNotPermittedCalls() {
        open();
        health.permits(now);
        health.enter(now, true);
        assertThat(health.resilience4j().getMetrics().getNumberOfNotPermittedCalls())
                .as("calls that only asked")
                .isZero();

        health.refused();
        assertThat(health.resilience4j().tryAcquirePermission()).isFalse();
        assertThat(health.resilience4j().getMetrics().getNumberOfNotPermittedCalls())
                .isEqualTo(2);
    }

    @Test
    void startsOneProbePerInterval() {
        open();
        now += 99 * MILLIS;
        assertThat(health.probes().tryStart(now, 0, false)).isNull();
        assertThat(health.probes().nanosToNext()).isEqualTo(MILLIS);
        now += MILLIS;
        Probe first = Objects.requireNonNull(health.probes().tryStart(now, 0, false));
        assertThat(health.probes().tryStart(now, 0, false)).isNull();
        health.probes().failed(first);
        now += 100 * MILLIS;

        assertThat(health.probes().tryStart(now, 0, false)).isNotNull();
    }

    /** The stall time is 1 s: a quarter of it is 250 ms. */
    @Test
    void spacesProbesOverTheStallTimeWhileTheyAreSwallowed() {
        open();
        List<Long> startedAt = new ArrayList<>();
        List<Probe> underWay = new ArrayList<>();
        List<Long> endsAt = new ArrayList<>();
        long end = now + 20 * SECONDS;
        for (; now < end; now += MILLIS) {
            for (int i = underWay.size() - 1; i >= 0; i--) {
                if (now >= endsAt.get(i)) {
                    health.probes().failed(underWay.remove(i));
                    endsAt.remove(i);
                }
            }
            Probe probe = health.probes().tryStart(now, FAST, false);
            if (probe != null) {
                startedAt.add(now);
                underWay.add(probe);
                endsAt.add(now + probe.patienceNanos());
            }
            assertThat(underWay).hasSizeLessThanOrEqualTo(5);
        }
        for (int i = 2; i < startedAt.size(); i++) {
            assertThat(startedAt.get(i) - startedAt.get(i - 1)).isBetween(250 * MILLIS, 260 * MILLIS);
        }
    }

    @Test
    void oneProbeAtATimeIsPatientForLongerEachTime() {
        Health slow = health(settings(Duration.ofSeconds(20), true));
        slow.operator().openNow();
        List<Long> patience = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            now += SECONDS;
            Probe patient = Objects.requireNonNull(slow.probes().tryStart(now, 0, false));
            now += SECONDS;
            Probe other = Objects.requireNonNull(slow.probes().tryStart(now, 0, false));
            patience.add(patient.patienceNanos() / SECONDS);
            assertThat(other.patienceNanos()).isEqualTo(2 * SECONDS);
            slow.probes().failed(patient);
            slow.probes().failed(other);
        }
        assertThat(patience).containsExactly(4L, 8L, 16L, 20L);
    }

    @Test
    void letsOneCallerAtATimeThroughIfThereIsNoOtherProbe() {
        open();
        now += 199 * MILLIS;
        assertThat(health.probes().tryStartLastResort(now, 0)).isNull();
        now += MILLIS;
        Probe caller = Objects.requireNonNull(health.probes().tryStartLastResort(now, 0));
        assertThat(caller.patienceNanos()).as("the stall time").isEqualTo(SECONDS);
        now += 900 * MILLIS;
        assertThat(health.probes().tryStartLastResort(now, 0)).isNull();

        health.probes().failed(caller);

        assertThat(health.probes().tryStartLastResort(now, 0)).isNotNull();
    }

    @Test
    void aProbeOfAnEarlierOpeningThatFailsChangesNothing() {
        open();
        Probe swallowed = probe();
        health.probes().answered(probe(), now);
        succeed(100);
        assertThat(health.state()).isEqualTo(State.CLOSED);

        health.probes().failed(swallowed);
        health.probes().answered(swallowed, now);

        assertThat(health.state()).isEqualTo(State.CLOSED);
        assertThat(health.probes().underWay()).isZero();
    }

    // ---------------------------------------------------------------- half-open

    @Test
    void growsTheLimitByOneWithEachGoodAnswerAndClosesAtTheLimit() {
        permits.limit = 8;
        recover();
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);
        assertThat(health.caps().maxCalls()).isEqualTo(5);

        succeed(1);
        assertThat(health.caps().maxCalls()).isEqualTo(6);
        succeed(1);
        assertThat(health.caps().maxCalls()).isEqualTo(7);
        succeed(1);

        assertThat(health.state()).isEqualTo(State.CLOSED);
        assertThat(health.caps().maxCalls()).isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void closesWithoutTrafficASecondAfterAGoodAnswer() {
        recover();
        now += SECONDS - 1;
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);
        now++;
        assertThat(health.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void closesASecondAfterTheLastFailureOnceACallIsAnswered() {
        recover();
        succeed(1);
        now += SECONDS / 2;
        fail(1);
        now += 10 * SECONDS;
        assertThat(health.state()).as("no good answer since the failure").isEqualTo(State.HALF_OPEN);

        succeed(1);

        assertThat(health.state()).isEqualTo(State.CLOSED);
    }

    @Test
    void opensAgainWhenTheFirstThreeCallsFail() {
        recover();
        fail(2);
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);

        fail(1);

        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(health.why()).isEqualTo("failing, 3 of the first 3 calls failed: connection-lost");
    }

    @Test
    void opensAgainWhenHalfOfTenCallsFail() {
        permits.limit = 100;
        recover();
        succeed(5);
        fail(4);
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);

        fail(1);

        assertThat(health.state()).isEqualTo(State.OPEN);
    }

    @Test
    void opensAgainWhenItsCallsStall() {
        recover();
        List<Generation> calls = enter(5);
        calls.forEach(call -> stalled(call, now, now + SECONDS));

        assertThat(health.state()).isEqualTo(State.OPEN);
        assertThat(permits.givenBack).isEqualTo(5);
    }

    @Test
    void halvesThePaceAfterARelapseWithinTenSecondsAndForgetsItLater() {
        permits.limit = 100;
        recover();
        fail(3);
        health.probes().answered(probe(), now);
        succeed(4);
        assertThat(health.caps().maxCalls()).isEqualTo(7);

        succeed(200);
        now += 11 * SECONDS;
        open();
        health.probes().answered(probe(), now);
        succeed(4);
        assertThat(health.caps().maxCalls()).isEqualTo(9);
    }

    @Test
    void aRelapseDoesNotSlowTheProbes() {
        for (int i = 0; i < 10; i++) {
            open();
            now += 100 * MILLIS;
            health.probes().answered(Objects.requireNonNull(health.probes().tryStart(now, 0, false)), now);
            assertThat(health.state()).isEqualTo(State.HALF_OPEN);
        }
    }

    @Test
    void ignoresResultsOfCallsThatWereSentBeforeTheOpening() {
        List<Generation> before = enter(30);
        open();
        health.probes().answered(probe(), now);
        before.forEach(call -> {
            stalled(call, now, now + SECONDS);
            health.failed(call, SECONDS, reset, now);
        });
        assertThat(health.state()).isEqualTo(State.HALF_OPEN);

        succeed(100);
        before.forEach(call -> health.failed(call, SECONDS, reset, now));
        assertThat(health.state()).isEqualTo(State.CLOSED);
    }

    // ---------------------------------------------------------------- forced

    @ParameterizedTest
    @CsvSource({"CLOSED", "OPEN", "HALF_OPEN"})
    void isForcedOpenFromEveryState(State from) {
        enter(from);
        health.operator().forceOpen();
        assertThat(health.state()).isEqualTo(State.FORCED_OPEN);
        assertThat(health.permits(now)).isFalse();
        now += 10 * SECONDS;
        assertThat(health.probes().tryStart(now, 0, false)).isNull();

        health.operator().release();

        assertThat(health.state()).isEqualTo(State.CLOSED);
        assertThat(health.permits(now)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"CLOSED", "OPEN", "HALF_OPEN"})
    void isForcedClosedFromEveryStateAndKeepsObserving(State from) {
        enter(from);
        health.operator().forceClosed();
        fail(100);
        enter(10).forEach(call -> stalled(call, now, now + SECONDS));

        assertThat(health.state()).isEqualTo(State.DISABLED);
        assertThat(health.failureRate()).isEqualTo(100);
        health.operator().release();
        assertThat(health.failureRate()).as("an empty window").isEqualTo(-1);
    }

    @Test
    void isForcedThroughResilience4j() {
        RegisteredBreaker face = health.resilience4j();
        face.transitionToForcedOpenState();
        assertThat(face.getState()).isEqualTo(State.FORCED_OPEN);
        face.transitionToDisabledState();
        assertThat(face.getState()).isEqualTo(State.DISABLED);
        face.reset();
        assertThat(face.getState()).isEqualTo(State.CLOSED);
    }

    // ---------------------------------------------------------------- configuration

    @Test
    void keepsItsStateWithOtherProbesOrDeadlines() {
        open();
        health.configure(settings(
                Duration.ofSeconds(1),
                true,
                100,
                null,
                new RecoveryProperties(null, Duration.ofSeconds(1), 1, Duration.ofSeconds(30), null)));
        assertThat(health.state()).isEqualTo(State.OPEN);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void startsClosedWithOtherThresholdsUnlessForced(boolean forced) {
        if (forced) {
            health.operator().forceOpen();
        } else {
            open();
        }
        health.configure(settings(
                DEADLINE,
                true,
                50,
                Duration.ofMillis(400),
                new RecoveryProperties(null, Duration.ofMillis(100), 5, Duration.ofSeconds(30), null)));
        assertThat(health.state()).isEqualTo(forced ? State.FORCED_OPEN : State.CLOSED);
    }

    @ParameterizedTest
    @CsvSource({
        // deadline, usual, of the answer that ended an opening, expected; in ms
        "2000, 0, 0, 2000",
        "2000, 20, 0, 1000",
        "2000, 400, 0, 1200",
        "2000, 1200, 0, 2000",
        "20000, 20, 0, 2000",
        "20000, 3000, 0, 9000",
        "300, 10, 0, 150",
        "2000, 20, 20, 1000",
        "2000, 20, 1500, 2000",
        "20000, 20, 1500, 4500",
        "20000, 3000, 1500, 9000"
    })
    void theStallTimeFollowsTheDeadlineAndTheUsualTime(long deadline, long usual, long recovery, long expected) {
        assertThat(settings(Duration.ofMinutes(1), true)
                        .stallNanos(deadline * MILLIS, usual * MILLIS, recovery * MILLIS))
                .isEqualTo(expected * MILLIS);
    }

    @Test
    void theAnswerThatEndsAnOpeningTellsHowLongTheBackendTakes() {
        assertThat(health.role().recoveryNanos()).isZero();
        fail(25);
        Probe slow = probe();
        assertThat(health.role().recoveryNanos()).as("open").isZero();
        now += 1_500 * MILLIS;
        health.probes().answered(slow, now);
        assertThat(health.role().recoveryNanos()).isEqualTo(1_500 * MILLIS);
        now += 2 * SECONDS;
        assertThat(health.state()).isEqualTo(State.CLOSED);
        assertThat(health.role().recoveryNanos()).as("after the ramp").isEqualTo(1_500 * MILLIS);
    }

    @Test
    void logsEachTransitionOnceWithItsEvidence() {
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger logger = (Logger) LoggerFactory.getLogger(Health.class);
        logger.addAppender(log);
        try {
            fail(25);
            health.probes().answered(probe(), now);
            now += SECONDS;
            health.permits(now);
            health.permits(now);
        } finally {
            logger.detachAppender(log);
        }
        assertThat(log.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly(
                        "Breaker of backend orders opened: failing, 20 of 20 calls failed: connection-lost",
                        "Breaker of backend orders half-opened: a probe was answered",
                        "Breaker of backend orders closed: the backend has recovered");
        assertThat(log.list).extracting(event -> event.getLevel().toString()).containsExactly("WARN", "INFO", "WARN");
    }

    // ---------------------------------------------------------------- fixtures

    private Generation enter() {
        return Objects.requireNonNull(health.enter(now, true), "refused");
    }

    private List<Generation> enter(int calls) {
        List<Generation> entered = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            entered.add(enter());
        }
        return entered;
    }

    private void enter(State state) {
        switch (state) {
            case OPEN -> open();
            case HALF_OPEN -> recover();
            default -> succeed(1);
        }
        assertThat(health.state()).isEqualTo(state);
    }

    private void succeed(int calls) {
        for (int i = 0; i < calls; i++) {
            Generation call = enter();
            health.answered(call, now);
            health.succeeded(call, FAST, now);
            call.leave();
        }
    }

    private void fail(int calls) {
        for (int i = 0; i < calls; i++) {
            Generation call = health.enter(now, true);
            if (call != null) {
                health.failed(call, FAST, reset, now);
                call.leave();
            }
        }
    }

    /** A call has waited for the stall time for the first time. */
    private void stalled(Generation call, long sentAt, long at) {
        health.stalled(call, sentAt, sentAt, sentAt - 1, at);
    }

    /** A call that was judged before still waits. */
    private void judgeAgain(Generation call, long sentAt, long judgedSince, long silentSince) {
        health.stalled(call, sentAt, Math.max(sentAt, silentSince), judgedSince, now);
    }

    private void answerOne(List<Generation> calls) {
        Generation answered = calls.removeLast();
        health.answered(answered, now);
        health.succeeded(answered, FAST, now);
        answered.leave();
    }

    /** Opens by a stall. */
    private void open() {
        Generation call = Objects.requireNonNull(health.enter(now, false), "refused");
        long sentAt = now;
        now += SECONDS;
        for (int i = 0; i < 5; i++) {
            stalled(call, sentAt, now);
        }
        assertThat(health.state()).isEqualTo(State.OPEN);
    }

    private Probe probe() {
        now += SECONDS;
        return Objects.requireNonNull(health.probes().tryStart(now, 0, false), "no probe is due");
    }

    private void recover() {
        open();
        health.probes().answered(probe(), now);
        permits.givenBack = 0;
    }

    private static final class CountingPermits implements Health.Permits {

        int limit = 64;
        int givenBack;

        @Override
        public int limit() {
            return limit;
        }

        @Override
        public void limitChanged() {}

        @Override
        public void giveBack(int calls) {
            givenBack += calls;
        }
    }
}
