package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.health.ProbeMode;
import io.weir.limit.FixedLimit;
import io.weir.limit.LimitSettings;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.Waiter;
import io.weir.outcome.Reason;
import java.time.Duration;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AdmissionTest {

    private final ExchangeFixture fixture = new ExchangeFixture();

    @Test
    void passesItsPermitToTheNextWaiterIfItsEventLoopHasStopped() {
        fixture.bulkhead.resize(1, 2);
        fixture.takePermit().start();
        NextWaiter next = new NextWaiter();
        assertThat(fixture.bulkhead.enter(next)).isEqualTo(QueueingBulkhead.Entry.QUEUED);
        fixture.stopLoop();

        fixture.freePermit();

        assertThat(next.granted).isTrue();
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.bulkhead.inUse()).isOne();
        fixture.bulkhead.release();
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.bulkhead.queued()).isZero();
    }

    /** Nothing was answered for a second, and all permits are held. */
    private void fillWithoutAnAnswer() {
        fixture.streams.resize(4, 0);
        fixture.takePermit().create();
        fixture.record().backend().limit().pace().sent(fixture.now());
        fixture.advance(Duration.ofMillis(1100));
    }

    @Test
    void sendsACallBeyondALearntLimitIfNothingIsAnswered() {
        fillWithoutAnAnswer();
        fixture.start();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.streams.inUse()).isOne();

        fixture.finish();
        assertThat(fixture.limit.started).as("samples").isZero();
        fixture.freePermit();
        fixture.assertEndedCleanly();
    }

    /** It holds a stream's permit already. */
    @Test
    void sendsNoUpgradeBeyondTheLimit() {
        fixture.withWebSocket();
        fillWithoutAnAnswer();
        fixture.start();
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.bulkhead.queued()).isOne();

        fixture.exchange().leave();
        fixture.freePermit();
        fixture.assertEndedCleanly();
    }

    @Test
    void sendsNoCallBeyondAFixedLimit() {
        fillWithoutAnAnswer();
        fixture.record().backend().limit().configure(LimitSettings.fixed(1, 1));
        fixture.start();
        assertThat(fixture.attempts).isEmpty();

        fixture.exchange().leave();
        fixture.freePermit();
        fixture.assertEndedCleanly();
    }

    /** A queue of one is full. A call of 20 ms fits into a pause of 100 ms, and into what is left of it. */
    @ParameterizedTest
    @CsvSource({"100, 0, true", "100, 200, true", "100, 500, false", "40, 0, false"})
    void waitsBeyondTheQueueRightAfterAPauseOfTheGateway(int pauseMillis, int laterMillis, boolean waits) {
        fixture.withMeasuredPauses();
        fixture.learnUsualTime(Duration.ofMillis(20));
        fixture.bulkhead.resize(1, 1);
        fixture.takePermit();
        assertThat(fixture.bulkhead.enter(new NextWaiter())).isEqualTo(QueueingBulkhead.Entry.QUEUED);

        fixture.pause(Duration.ofMillis(pauseMillis));
        fixture.advance(Duration.ofMillis(laterMillis));
        fixture.start();

        assertThat(fixture.bulkhead.queued()).isEqualTo(waits ? 2 : 1);
        if (!waits) {
            assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
        }
    }

    @Test
    void acquiresTheRoutesPermitAfterTheBackends() {
        fixture.takePermit().start();
        assertThat(fixture.routeLimit.inUse()).isZero();

        fixture.freePermit();
        fixture.channel.runPendingTasks();
        assertThat(fixture.routeLimit.inUse()).isOne();
        assertThat(fixture.bulkhead.inUse()).isOne();

        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void isRefusedIfTheRouteIsFullWhenThePermitArrives() {
        fixture.takePermit().start();
        assertThat(fixture.routeLimit.tryAcquire()).isTrue();

        fixture.freePermit();
        fixture.channel.runPendingTasks();
        fixture.routeLimit.release();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
        assertThat(fixture.record().detail()).isEqualTo("the route is at its limit");
    }

    @Test
    void isRefusedIfItsRouteHangsAndHoldsHalfOfTheLimit() {
        fixture.bulkhead.resize(4, 0);
        routeHangs();
        fixture.overdue.add();
        fixture.overdue.add();

        fixture.start();

        fixture.overdue.release();
        fixture.overdue.release();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
        assertThat(fixture.record().detail()).isEqualTo("the route's calls hang and hold half of the limit");
    }

    @Test
    void isCountedUnderTheCapOfARouteThatHangs() {
        fixture.bulkhead.resize(4, 0);
        routeHangs();
        fixture.overdue.add();

        fixture.start();

        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.overdue.held()).isEqualTo(2);
        fixture.overdue.release();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void givesItsPlaceUnderTheCapBackIfItsCallerLeavesTheQueue() {
        fixture.bulkhead.resize(1, 1);
        routeHangs();
        fixture.takePermit().start();
        assertThat(fixture.overdue.held()).as("a waiting call holds no place").isZero();

        fixture.exchange().leave();
        fixture.freePermit();

        fixture.channel.runPendingTasks();
        fixture.assertEndedCleanly();
    }

    @Test
    void countsAnOverdueCallUntilItEnds() {
        fixture.bulkhead.resize(4, 0);
        fixture.start();
        assertThat(fixture.overdue.held()).isZero();

        fixture.advance(ExchangeFixture.STALL);
        assertThat(fixture.overdue.held()).isOne();

        fixture.finish();
        fixture.assertEndedCleanly();
    }

    private void routeHangs() {
        for (int i = 0; i < 2; i++) {
            fixture.overdue.stalled(fixture.now(), 2, ExchangeFixture.DEADLINE.toNanos(), fixture.now());
        }
    }

    @Test
    void isRefusedIfTheQueueIsFull() {
        fixture.bulkhead.resize(1, 0);
        fixture.takePermit().start();
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
        assertThat(fixture.record().queueNanos()).isZero();
    }

    @Test
    void isRefusedIfItLosesItsPlaceInTheQueue() {
        fixture.bulkhead.resize(1, 1, QueueingBulkhead.Overflow.EVICT_OLDEST);
        fixture.takePermit().start();
        fixture.advance(Duration.ofMillis(5));

        NextWaiter newer = new NextWaiter();
        assertThat(fixture.bulkhead.enter(newer)).isEqualTo(QueueingBulkhead.Entry.QUEUED);
        fixture.channel.runPendingTasks();

        assertThat(fixture.outcome()).isEqualTo("queue-evicted 503");
        assertThat(fixture.record().queueNanos()).isEqualTo(Duration.ofMillis(5).toNanos());
        fixture.freePermit();
        assertThat(newer.granted).isTrue();
        fixture.bulkhead.release();
        fixture.assertEndedCleanly();
        assertThat(fixture.limit.started).isZero();
    }

    @Test
    void givesNothingBackIfItsCallerLeavesBeforeItLearnsThatItLostItsPlace() {
        fixture.bulkhead.resize(1, 1, QueueingBulkhead.Overflow.EVICT_OLDEST);
        fixture.takePermit().start();
        NextWaiter newer = new NextWaiter();
        assertThat(fixture.bulkhead.enter(newer)).isEqualTo(QueueingBulkhead.Entry.QUEUED);

        fixture.exchange().leave();
        fixture.channel.runPendingTasks();

        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
        assertThat(fixture.bulkhead).hasToString("1 of 1 in use, 1 of 1 queued");
        fixture.freePermit();
        fixture.bulkhead.release();
        fixture.assertEndedCleanly();
    }

    @Test
    void losesItsPlaceInTheMomentInWhichItsWaitEnds() {
        fixture.bulkhead.resize(1, 1, QueueingBulkhead.Overflow.EVICT_OLDEST);
        fixture.takePermit().start();
        NextWaiter newer = new NextWaiter();
        assertThat(fixture.bulkhead.enter(newer)).isEqualTo(QueueingBulkhead.Entry.QUEUED);

        fixture.advanceBeforeTasks(ExchangeFixture.MAX_WAIT);
        fixture.channel.runPendingTasks();

        assertThat(fixture.outcome()).isEqualTo("queue-evicted 503");
        fixture.freePermit();
        fixture.bulkhead.release();
        fixture.assertEndedCleanly();
    }

    @Test
    void leavesTheQueueAfterTheMaximumWait() {
        fixture.takePermit().start();

        fixture.advance(ExchangeFixture.MAX_WAIT);
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("queue-timeout 503");
        assertThat(fixture.record().queueNanos()).isEqualTo(ExchangeFixture.MAX_WAIT.toNanos());
        assertThat(fixture.record().backendNanos()).isZero();
    }

    @Test
    void usesAPermitThatIsAlreadyOnItsWayWhenTheWaitEnds() {
        fixture.takePermit().start();
        fixture.freePermit();

        fixture.advanceBeforeTasks(ExchangeFixture.MAX_WAIT);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void leavesTheQueueWithLessTimeThanTheRoutesCallsUsuallyNeed() {
        Duration spare = Duration.ofMillis(50);
        Duration usual = fixture.learnUsualTime(Duration.ofMillis(250));
        fixture.withCallerTimeout(usual.plus(spare)).takePermit().start();
        assertThat(spare).isLessThan(ExchangeFixture.MAX_WAIT);

        fixture.advance(spare.minusMillis(1));
        assertThat(fixture.ended).isEmpty();
        fixture.advance(Duration.ofMillis(1));
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.record().detail()).isEqualTo("too little time is left to wait for a permit");
    }

    @Test
    void doesNotEnterTheQueueWithLessTimeThanTheRoutesCallsUsuallyNeed() {
        Duration usual = fixture.learnUsualTime(Duration.ofMillis(250));
        fixture.withCallerTimeout(usual.minusMillis(1)).takePermit().start();
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
    }

    @Test
    void waitsThoughTheBackendsOtherCallsTakeLongerThanItsDeadline() {
        for (int i = 0; i < 100; i++) {
            fixture.serviceTime.recordServed(
                    ExchangeFixture.DEADLINE.multipliedBy(5).toNanos());
        }
        fixture.advance(Duration.ofSeconds(1));
        assertThat(fixture.serviceTime.uncongestedNanos()).isGreaterThan(ExchangeFixture.DEADLINE.toNanos());
        fixture.takePermit().start();

        fixture.freePermit();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void waitsWithHalfOfTheDeadlineLeftHoweverSlowTheRoutesCallsAre() {
        fixture.learnUsualTime(ExchangeFixture.DEADLINE.multipliedBy(5));
        fixture.takePermit().start();

        fixture.freePermit();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void acquiresNoPermitWhileTheBreakerIsOpen() {
        fixture.health.operator().forceOpen();
        fixture.takePermit().start();
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.record().attempts()).isZero();
    }

    @Test
    void startsNoAttemptIfTheBreakerOpenedDuringTheWait() {
        fixture.takePermit().start();
        fixture.health.operator().forceOpen();
        fixture.freePermit();
        fixture.channel.runPendingTasks();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.observer.served).isEmpty();
    }

    @Test
    void countsRefusalsThatAreNotEnforcedAndAdmits() {
        fixture.withoutEnforcement();
        fixture.health.operator().forceOpen();
        fixture.takePermit().start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.DEADLINE);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.observer.wouldRefuse).containsExactly(Reason.CIRCUIT_OPEN, Reason.DEADLINE_EXCEEDED);
    }

    @Test
    void countsAnUpgradeAsACallUntilTheBackendHasOpenedIt() {
        fixture.withWebSocket().start();
        fixture.attempt().connects();
        assertThat(fixture.bulkhead.inUse()).isOne();
        assertThat(fixture.streams.inUse()).isOne();

        fixture.attempt().opensTunnel();

        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.streams.inUse()).isOne();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void countsARefusedUpgradeAsACallUntilItsEnd() {
        fixture.withWebSocket().start();
        fixture.attempt().begins(403);
        assertThat(fixture.bulkhead.inUse()).isOne();

        fixture.attempt().answers();
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.streams.inUse()).isZero();

        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("403");
    }

    @Test
    void givesThePermitOfAnOpenedUpgradeToTheNextWaiter() {
        fixture.bulkhead.resize(1, 2);
        fixture.withWebSocket().start();
        NextWaiter next = new NextWaiter();
        assertThat(fixture.bulkhead.enter(next)).isEqualTo(QueueingBulkhead.Entry.QUEUED);

        fixture.attempt().opensTunnel();

        assertThat(next.granted).isTrue();
        fixture.bulkhead.release();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void holdsNoStreamPermitWhileAnUpgradeWaits() {
        fixture.withWebSocket().takePermit().start();
        assertThat(fixture.bulkhead.queued()).isOne();
        assertThat(fixture.streams.inUse()).isZero();

        fixture.freePermit();
        fixture.channel.runPendingTasks();
        assertThat(fixture.streams.inUse()).isOne();

        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void refusesAnUpgradeAtOnceIfTheStreamsAreFull() {
        assertThat(fixture.streams.tryAcquire()).isTrue();
        fixture.withWebSocket().start();
        fixture.streams.release();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
        assertThat(fixture.record().detail()).isEqualTo("the streams are at their limit");
    }

    @Test
    void refusesAnUpgradeIfTheStreamsAreFullWhenThePermitArrives() {
        fixture.withWebSocket().takePermit().start();
        assertThat(fixture.streams.tryAcquire()).isTrue();

        fixture.freePermit();
        fixture.channel.runPendingTasks();
        fixture.streams.release();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
    }

    @Test
    void takesNoPermitOfTheBulkheadForAStream() {
        fixture.withStreamRoute().withWebSocket().takePermit().start();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.streams.inUse()).isOne();

        fixture.attempt().opensTunnel();
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.observer.served).isEmpty();
    }

    @Test
    void countsAnUpgradeThatTheStreamsWouldRefuseAndAdmits() {
        assertThat(fixture.streams.tryAcquire()).isTrue();
        fixture.withoutEnforcement().withWebSocket().start();
        fixture.attempt().opensTunnel();
        assertThat(fixture.streams.inUse()).isEqualTo(2);
        fixture.finish();
        fixture.streams.release();

        fixture.assertEndedCleanly();
        assertThat(fixture.observer.wouldRefuse).containsExactly(Reason.BULKHEAD_FULL);
    }

    /**
     * The estimate of a call's time learns only from calls that the backend has had, and has had time for.
     */
    @ParameterizedTest
    @CsvSource({
        "ANSWERED, 1",
        "RETRIED, 2",
        "OPENED, 1",
        "DEADLINE, 1",
        "SHORT_DEADLINE, 0",
        "LEFT, 0",
        "REFUSED, 0",
        "LOST, 0",
        "SHUT_DOWN, 0"
    })
    void samplesOnlyCallsThatTheBackendAnsweredOrLetTimeOut(End end, int samples) {
        end.happen(fixture);

        fixture.assertEndedCleanly();
        assertThat(fixture.serviceTime.littlesLaw().figures(new FixedLimit(1)).retired())
                .isEqualTo(samples);
    }

    /** An end of a call. */
    @SuppressWarnings("ImmutableEnumChecker") // Functions without state.
    enum End {
        ANSWERED(fixture -> fixture.start().finish()),
        RETRIED(fixture -> {
            fixture.withRetry().start();
            fixture.attempt().begins(503).answers();
            fixture.advance(ExchangeFixture.BACKOFF);
            fixture.finish();
        }),
        OPENED(fixture -> {
            fixture.withWebSocket().start();
            fixture.attempt().opensTunnel();
            fixture.finish();
        }),
        DEADLINE(fixture -> {
            fixture.start().attempt().connects();
            fixture.advance(ExchangeFixture.DEADLINE);
        }),
        SHORT_DEADLINE(fixture -> {
            fixture.caller.headers.set("X-Request-Timeout", "1ms");
            fixture.start().attempt().connects();
            fixture.advance(Duration.ofMillis(1));
        }),
        LEFT(fixture -> {
            fixture.start().attempt().connects();
            fixture.exchange().callerLeft();
        }),
        REFUSED(fixture -> fixture.start().attempt().fails()),
        LOST(fixture -> fixture.start().attempt().connects().fails()),
        SHUT_DOWN(fixture -> {
            fixture.start().engine.endAll();
            fixture.channel.runPendingTasks();
        });

        private final Consumer<ExchangeFixture> doing;

        End(Consumer<ExchangeFixture> doing) {
            this.doing = doing;
        }

        void happen(ExchangeFixture fixture) {
            doing.accept(fixture);
        }
    }

    @Test
    void reportsTheTimeForWhichThePermitWasUsed() {
        fixture.start();
        fixture.advance(Duration.ofMillis(70));
        assertThat(fixture.exchange().backendNanosSoFar())
                .isEqualTo(Duration.ofMillis(70).toNanos());

        fixture.attempt().answers();
        fixture.advance(Duration.ofMillis(30));
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.observer.served).containsExactly(Duration.ofMillis(70));
        assertThat(fixture.record().backendNanos())
                .isEqualTo(Duration.ofMillis(70).toNanos());
        assertThat(fixture.record().totalNanos())
                .isEqualTo(Duration.ofMillis(100).toNanos());
    }

    /** The waiter behind the exchange in the queue. */
    private static final class NextWaiter extends Waiter {

        private boolean granted;

        @Override
        protected void granted() {
            granted = true;
        }
    }

    // ---------------------------------------------------------------- calls that are not permitted

    @Test
    void countsARefusedCallerOnce() {
        fixture.health.resilience4j().transitionToOpenState();
        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(notPermitted()).isOne();
    }

    @Test
    void countsARefusedCallerWithABodyOnce() {
        fixture.health.resilience4j().transitionToOpenState();
        fixture.withUpload().start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(notPermitted()).isOne();
    }

    /** The breaker opens while the body is read. */
    @Test
    void countsACallerOnceThatIsRefusedAfterItsBodyIsRead() {
        fixture.withUpload().start();
        fixture.health.resilience4j().transitionToOpenState();
        fixture.upload().sends(1);
        fixture.upload().ends();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(notPermitted()).isOne();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void doesNotCountACallerWhoseRequestIsAProbe(boolean hasBody) {
        fixture.withProbes(ProbeMode.CALLER).health.resilience4j().transitionToOpenState();
        fixture.advance(Duration.ofSeconds(1));
        if (hasBody) {
            fixture.withUpload().start();
            fixture.upload().sends(1);
            fixture.upload().ends();
        } else {
            fixture.start();
        }
        assertThat(fixture.attempts).hasSize(1);
        fixture.finish();

        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(notPermitted()).isZero();
    }

    @Test
    void countsACallerWhoseRequestIsCopiedAsAProbe() {
        fixture.health.resilience4j().transitionToOpenState();
        fixture.advance(Duration.ofSeconds(1));
        fixture.start();

        assertThat(fixture.probes).hasSize(1);
        assertThat(notPermitted()).isOne();
    }

    @Test
    void doesNotCountACallerWhomTheBreakerDoesNotRefuse() {
        fixture.withoutEnforcement().health.resilience4j().transitionToOpenState();
        fixture.start();
        fixture.finish();

        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(notPermitted()).isZero();
    }

    private long notPermitted() {
        return fixture.health.resilience4j().getMetrics().getNumberOfNotPermittedCalls();
    }
}
