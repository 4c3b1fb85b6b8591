package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead.Entry;
import io.weir.limit.QueueingBulkhead.Overflow;
import io.weir.limit.Tenants;
import io.weir.limit.Waiter;
import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The priority and the tenant with which an exchange waits for its permit. */
class AdmissionOrderTest {

    private final ExchangeFixture fixture = new ExchangeFixture();

    @Test
    void waitsWithThePriorityOfItsRoute() {
        fixture.withPriority(Priority.CRITICAL);
        Other normal = startBehind(new Other(Priority.NORMAL, null));

        fixture.freePermit();
        fixture.channel.runPendingTasks();

        assertThat(fixture.attempts).hasSize(1);
        assertThat(normal.granted).isFalse();
        assertThat(fixture.record().priority()).isEqualTo(Priority.CRITICAL);
        assertThat(fixture.observer.dispatched).containsExactly(Priority.CRITICAL);
        end(normal);
    }

    @Test
    void waitsWithThePriorityOfATrustedProxyInsteadOfItsRoutes() {
        fixture.withPriority(Priority.CRITICAL);
        fixture.caller.requestedPriority = Priority.SHEDDABLE;
        Other normal = new Other(Priority.NORMAL, null);
        fixture.bulkhead.resize(1, 2);
        fixture.takePermit().start();
        fixture.bulkhead.enter(normal);

        fixture.freePermit();
        fixture.channel.runPendingTasks();

        assertThat(normal.granted).isTrue();
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.exchange().priority()).isEqualTo(Priority.SHEDDABLE);
        fixture.bulkhead.release();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void aRetryWaitsOneClassLower() {
        fixture.withRetry().withPriority(Priority.CRITICAL).start();
        assertThat(fixture.exchange().attemptPriority()).isEqualTo(Priority.CRITICAL);
        fixture.attempt().fails();
        fixture.advance(ExchangeFixture.BACKOFF);

        assertThat(fixture.attempts).hasSize(2);
        assertThat(fixture.observer.dispatched).containsExactly(Priority.CRITICAL, Priority.NORMAL);
        assertThat(fixture.exchange().attemptPriority()).isEqualTo(Priority.NORMAL);
        assertThat(fixture.exchange().priority()).isEqualTo(Priority.CRITICAL);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void aFallbackWaitsOneClassLower() {
        fixture.withOtherBackend().start();
        fixture.attempt().fails();
        fixture.channel.runPendingTasks();

        assertThat(fixture.observer.dispatched).containsExactly(Priority.NORMAL, Priority.SHEDDABLE);
        assertThat(fixture.exchange().attemptPriority()).isEqualTo(Priority.SHEDDABLE);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void takesThePlaceOfALowerPriorityInAQueueThatRefusesNewcomers() {
        fixture.withPriority(Priority.CRITICAL);
        Other first = new Other(Priority.NORMAL, null);
        Other second = new Other(Priority.NORMAL, null);
        fixture.bulkhead.resize(1, 2);
        fixture.takePermit();
        fixture.bulkhead.enter(first);
        fixture.bulkhead.enter(second);

        fixture.start();

        assertThat(second.evicted).isTrue();
        fixture.freePermit();
        fixture.channel.runPendingTasks();
        assertThat(fixture.attempts).hasSize(1);
        end(first);
    }

    @Test
    void isRefusedForAHigherPriority() {
        fixture.bulkhead.resize(1, 1, Overflow.EVICT_OLDEST);
        fixture.takePermit().start();
        Other critical = new Other(Priority.CRITICAL, null);
        assertThat(fixture.bulkhead.enter(critical)).isEqualTo(Entry.QUEUED);
        fixture.channel.runPendingTasks();

        assertThat(fixture.record().reason()).isEqualTo(Reason.QUEUE_EVICTED);
        fixture.freePermit();
        fixture.bulkhead.release();
        fixture.assertEndedCleanly();
    }

    @Test
    void waitsWithItsTenant() {
        fixture.withTenant("small");
        fixture.bulkhead.resize(1, 3);
        fixture.takePermit();
        Other first = new Other(Priority.NORMAL, "big");
        Other second = new Other(Priority.NORMAL, "big");
        fixture.bulkhead.enter(first);
        fixture.bulkhead.enter(second);
        fixture.start();

        fixture.freePermit();
        fixture.bulkhead.release();
        fixture.channel.runPendingTasks();

        assertThat(first.granted).isTrue();
        assertThat(second.granted).isFalse();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.tenants().largest()).containsExactly(new Tenants.Usage("small", 1, 0));
        end(second);
    }

    @Test
    void countsNoTenantUnlessItWaits() {
        fixture.withTenant("small").start();
        assertThat(fixture.caller.tenantsRead).as("before its result").isZero();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.tenantsRead).isEqualTo(1);
        assertThat(fixture.tenants().count()).isZero();
    }

    @Test
    void countsARefusedCallOfATenant() {
        fixture.withTenant("small").takePermit().start();
        fixture.advance(ExchangeFixture.MAX_WAIT);
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.tenants().largest()).containsExactly(new Tenants.Usage("small", 0, 1));
    }

    @Test
    void aDryRunWaitsWithThePriorityToo() {
        fixture.withoutEnforcement().withPriority(Priority.CRITICAL);
        fixture.dryRun().resize(1, 2);
        fixture.dryRun().tryAcquire();
        Other normal = new Other(Priority.NORMAL, null);
        fixture.dryRun().enter(normal);
        fixture.start();

        fixture.dryRun().release();

        assertThat(normal.granted).isFalse();
        fixture.finish();
        assertThat(normal.granted).isTrue();
        fixture.dryRun().release();
        fixture.assertEndedCleanly();
    }

    /** Starts the exchange while another call waits that came before it. */
    private Other startBehind(Other other) {
        fixture.bulkhead.resize(1, 2);
        fixture.takePermit();
        fixture.bulkhead.enter(other);
        fixture.start();
        return other;
    }

    /** Ends the exchange, then the call that waits. */
    private void end(Other waiting) {
        fixture.finish();
        assertThat(waiting.granted).isTrue();
        fixture.bulkhead.release();
        fixture.assertEndedCleanly();
    }

    private static final class Other extends Waiter {
        private final Priority priority;
        private final @Nullable String tenant;
        private boolean granted;
        private boolean evicted;

        Other(Priority priority, @Nullable String tenant) {
            this.priority = priority;
            this.tenant = tenant;
        }

        @Override
        protected void granted() {
            granted = true;
        }

        @Override
        protected void evicted() {
            evicted = true;
        }

        @Override
        protected Priority priority() {
            return priority;
        }

        @Override
        protected @Nullable String tenant() {
            return tenant;
        }
    }
}
