package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class AdmissionTest {

    private final Course course = new Course();

    @Test
    void passesItsPermitOnWhenItsEventLoopHasStopped() {
        course.bulkhead.resize(1, 2);
        course.takePermit().start();
        Next next = new Next();
        assertThat(course.bulkhead.enter(next)).isEqualTo(QueueingBulkhead.Entry.QUEUED);
        course.stopLoop();

        course.freePermit();

        assertThat(next.granted).isTrue();
        assertThat(course.attempts).isEmpty();
        assertThat(course.bulkhead.inUse()).isOne();
        course.bulkhead.release();
        assertThat(course.bulkhead.inUse()).isZero();
        assertThat(course.bulkhead.queued()).isZero();
    }

    @Test
    void holdsTheRoutesPermitOnlyOnceItHasTheBackends() {
        course.takePermit().start();
        assertThat(course.routeLimit.inUse()).isZero();

        course.freePermit();
        course.channel.runPendingTasks();
        assertThat(course.routeLimit.inUse()).isOne();
        assertThat(course.bulkhead.inUse()).isOne();

        course.finish();
        course.assertOver();
    }

    @Test
    void isRefusedIfTheRouteIsFullByTheTimeThatThePermitComes() {
        course.takePermit().start();
        assertThat(course.routeLimit.tryAcquire()).isTrue();

        course.freePermit();
        course.channel.runPendingTasks();
        course.routeLimit.release();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("bulkhead-full 503");
        assertThat(course.exchange().detail()).isEqualTo("the route is at its limit");
    }

    @Test
    void isRefusedIfTheQueueIsFull() {
        course.bulkhead.resize(1, 0);
        course.takePermit().start();
        course.freePermit();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("bulkhead-full 503");
        assertThat(course.exchange().queueNanos()).isZero();
    }

    @Test
    void leavesTheLineWhenItHasWaitedLongEnough() {
        course.takePermit().start();

        course.pass(Course.MAX_WAIT);
        course.freePermit();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("queue-timeout 503");
        assertThat(course.exchange().queueNanos()).isEqualTo(Course.MAX_WAIT.toNanos());
        assertThat(course.exchange().backendNanos()).isZero();
    }

    @Test
    void usesAPermitThatIsOnItsWayWhenTheWaitIsOver() {
        course.takePermit().start();
        course.freePermit();

        course.passBeforeTasks(Course.MAX_WAIT);
        course.finish();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("200");
    }

    @Test
    void leavesTheLineWithLessTimeThanTheBackendNeeds() {
        Duration needed = course.learnServiceTime(Course.DEADLINE.minus(Duration.ofMillis(50)));
        Duration spare = Course.DEADLINE.minus(needed);
        assertThat(spare).isPositive().isLessThan(Course.MAX_WAIT);
        course.takePermit().start();

        course.pass(spare);
        course.freePermit();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(course.exchange().detail()).isEqualTo("too little time is left to wait for a permit");
    }

    @Test
    void doesNotLineUpWithLessTimeThanTheBackendNeeds() {
        course.learnServiceTime(Course.DEADLINE.multipliedBy(2));
        course.takePermit().start();
        course.freePermit();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("deadline-exceeded 504");
    }

    @Test
    void takesNoPermitWhileTheBreakerIsOpen() {
        course.breaker.forceOpen();
        course.takePermit().start();
        course.freePermit();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("circuit-open 503");
        assertThat(course.exchange().attempts()).isZero();
    }

    @Test
    void isNotDispatchedIfTheBreakerHasOpenedWhileItWaited() {
        course.takePermit().start();
        course.breaker.forceOpen();
        course.freePermit();
        course.channel.runPendingTasks();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("circuit-open 503");
        assertThat(course.observed.served).isEmpty();
    }

    @Test
    void countsWhatItWouldRefuseAndLetsItThrough() {
        course.triedOut();
        course.breaker.forceOpen();
        course.takePermit().start();
        course.attempt().connects();
        course.pass(Course.DEADLINE);
        course.finish();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("200");
        assertThat(course.observed.wouldRefuse).containsExactly(Reason.CIRCUIT_OPEN, Reason.DEADLINE_EXCEEDED);
    }

    @Test
    void tellsHowLongTheBackendHadThePermit() {
        course.start();
        course.pass(Duration.ofMillis(70));
        assertThat(course.exchange().backendNanosSoFar())
                .isEqualTo(Duration.ofMillis(70).toNanos());

        course.attempt().answers();
        course.pass(Duration.ofMillis(30));
        course.finish();

        course.assertOver();
        assertThat(course.observed.served).containsExactly(Duration.ofMillis(70));
        assertThat(course.exchange().backendNanos())
                .isEqualTo(Duration.ofMillis(70).toNanos());
        assertThat(course.exchange().totalNanos())
                .isEqualTo(Duration.ofMillis(100).toNanos());
    }

    /** Who stands behind it. */
    private static final class Next extends QueueingBulkhead.Waiter {

        private boolean granted;

        @Override
        protected void granted() {
            granted = true;
        }
    }
}
