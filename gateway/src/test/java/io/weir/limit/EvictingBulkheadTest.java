package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.QueueingBulkhead.Entry;
import io.weir.limit.QueueingBulkhead.Overflow;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class EvictingBulkheadTest {

    private final List<String> granted = new ArrayList<>();
    private final List<String> evicted = new ArrayList<>();
    /** Whether the calls that enter are in a guaranteed share. */
    private boolean isGuaranteed;

    @Test
    void servesInOrderOfArrivalWhileNoCallIsRefused() {
        QueueingBulkhead bulkhead = full(3);
        enter(bulkhead, "a", "b", "c");

        release(bulkhead, 3);

        assertThat(granted).containsExactly("a", "b", "c");
        assertThat(evicted).isEmpty();
    }

    @Test
    void evictsTheOldestAndServesTheNewestFirst() {
        QueueingBulkhead bulkhead = full(3);

        assertThat(enter(bulkhead, "a", "b", "c", "d", "e")).containsOnly(Entry.QUEUED);
        release(bulkhead, 3);

        assertThat(evicted).containsExactly("a", "b");
        assertThat(granted).containsExactly("e", "d", "c");
        assertThat(bulkhead).hasToString("1 of 1 in use, 0 of 3 queued");
    }

    @Test
    void servesInOrderOfArrivalAgainAfterTheQueueWasEmpty() {
        QueueingBulkhead bulkhead = full(2);
        enter(bulkhead, "a", "b", "c");
        release(bulkhead, 2);
        granted.clear();

        enter(bulkhead, "d", "e");
        release(bulkhead, 2);

        assertThat(granted).containsExactly("d", "e");
    }

    @Test
    void servesTheNewestFirstAfterAWaiterHasExpired() {
        QueueingBulkhead bulkhead = full(4);
        Call first = call("a");
        bulkhead.enter(first);
        enter(bulkhead, "b", "c");

        assertThat(first.expire()).isTrue();
        release(bulkhead, 2);

        assertThat(granted).containsExactly("c", "b");
    }

    @Test
    void keepsTheOrderOfArrivalWhenACallerLeaves() {
        QueueingBulkhead bulkhead = full(4);
        Call first = call("a");
        bulkhead.enter(first);
        enter(bulkhead, "b", "c");

        assertThat(first.leave()).isTrue();
        release(bulkhead, 2);

        assertThat(granted).containsExactly("b", "c");
    }

    @Test
    void keepsTheOrderOfArrivalAfterAnExpiryIfNewcomersAreRefused() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(1, 4);
        bulkhead.tryAcquire();
        Call first = call("a");
        bulkhead.enter(first);
        enter(bulkhead, "b", "c");

        assertThat(first.expire()).isTrue();
        release(bulkhead, 2);

        assertThat(granted).containsExactly("b", "c");
    }

    @Test
    void refusesAtOnceWithoutAQueue() {
        assertThat(enter(full(0), "a")).containsExactly(Entry.FULL);
        assertThat(evicted).isEmpty();
    }

    @Test
    void evictsTheSurplusWhenTheQueueShrinks() {
        QueueingBulkhead bulkhead = full(4);
        enter(bulkhead, "a", "b", "c", "d");

        bulkhead.resize(1, 2);

        assertThat(evicted).containsExactly("a", "b");
        assertThat(bulkhead).hasToString("1 of 1 in use, 2 of 2 queued");
    }

    @Test
    void anEvictedWaiterHasLeft() {
        QueueingBulkhead bulkhead = full(1);
        Call first = call("a");
        bulkhead.enter(first);
        enter(bulkhead, "b");

        assertThat(first.leave()).isTrue();
        assertThat(evicted).containsExactly("a");
        assertThat(bulkhead).hasToString("1 of 1 in use, 1 of 1 queued");
    }

    @Test
    void servesTheHighestPriorityFirst() {
        QueueingBulkhead bulkhead = full(10);
        enter(bulkhead, Priority.SHEDDABLE, null, "low");
        enter(bulkhead, Priority.NORMAL, null, "middle");
        enter(bulkhead, Priority.CRITICAL, null, "high 1", "high 2");

        release(bulkhead, 4);

        assertThat(granted).containsExactly("high 1", "high 2", "middle", "low");
    }

    @Test
    void servesGuaranteedCallsBeforeAllOthersAndEvictsThemLast() {
        QueueingBulkhead bulkhead = full(3);
        enter(bulkhead, Priority.CRITICAL, null, "high 1", "high 2", "high 3");
        isGuaranteed = true;
        enter(bulkhead, Priority.SHEDDABLE, null, "kept 1");
        enter(bulkhead, Priority.NORMAL, null, "kept 2");
        assertThat(bulkhead.queued(Priority.SHEDDABLE)).isEqualTo(1);
        assertThat(bulkhead.queued(Priority.NORMAL)).isEqualTo(1);
        isGuaranteed = false;
        enter(bulkhead, Priority.CRITICAL, null, "high 4");

        assertThat(evicted).containsExactly("high 1", "high 2", "high 3");
        release(bulkhead, 3);
        assertThat(granted).containsExactly("kept 1", "kept 2", "high 4");
        assertThat(bulkhead.queued(Priority.SHEDDABLE) + bulkhead.queued(Priority.NORMAL))
                .isZero();
    }

    @Test
    void evictsTheLowestPriorityFirst() {
        QueueingBulkhead bulkhead = full(4);
        enter(bulkhead, Priority.NORMAL, null, "middle");
        enter(bulkhead, Priority.SHEDDABLE, null, "low 1", "low 2", "low 3");

        enter(bulkhead, Priority.CRITICAL, null, "high 1", "high 2", "high 3");

        // One place is the reserve of the lowest.
        assertThat(evicted).containsExactly("low 1", "low 2", "middle");
        release(bulkhead, 3);
        assertThat(granted).containsExactly("high 1", "high 2", "high 3");
    }

    @Test
    void reservesPlacesOnlyForTheLowestWaitingPriority() {
        QueueingBulkhead bulkhead = full(2);
        enter(bulkhead, Priority.NORMAL, null, "middle");
        enter(bulkhead, Priority.SHEDDABLE, null, "low");

        enter(bulkhead, Priority.CRITICAL, null, "high 1");
        assertThat(evicted).containsExactly("middle");

        enter(bulkhead, Priority.CRITICAL, null, "high 2");
        assertThat(evicted).as("the reserve is half of two places").containsExactly("middle", "high 1");
    }

    @Test
    void evictsAMiddlePriorityBeforeTheHighestOne() {
        QueueingBulkhead bulkhead = full(2);
        enter(bulkhead, Priority.CRITICAL, null, "high");
        enter(bulkhead, Priority.NORMAL, null, "middle");

        enter(bulkhead, Priority.SHEDDABLE, null, "low");

        assertThat(evicted).containsExactly("middle");
    }

    @Test
    void evictsAMiddlePriorityForAHigherOneEvenIfNewcomersAreRefused() {
        QueueingBulkhead bulkhead = refusing(2);
        enter(bulkhead, Priority.NORMAL, null, "middle");
        enter(bulkhead, Priority.SHEDDABLE, null, "low");

        assertThat(enter(bulkhead, Priority.CRITICAL, null, "high")).containsExactly(Entry.QUEUED);
        assertThat(evicted).containsExactly("middle");
    }

    @Test
    void evictsALowNewcomerFromAQueueOfHigherOnes() {
        QueueingBulkhead bulkhead = full(3);
        enter(bulkhead, Priority.SHEDDABLE, null, "low 1");
        enter(bulkhead, Priority.CRITICAL, null, "high 1", "high 2");

        enter(bulkhead, Priority.SHEDDABLE, null, "low 2");

        assertThat(evicted).as("the newest low call has the reserve").containsExactly("low 1");
        release(bulkhead, 3);
        assertThat(granted).containsExactly("high 1", "high 2", "low 2");
    }

    @Test
    void servesTheLowestPriorityWithOneOfFiftyPermits() {
        QueueingBulkhead bulkhead = full(1_000);
        enter(bulkhead, Priority.SHEDDABLE, null, "low", "low", "low");
        for (int i = 0; i < 200; i++) {
            enter(bulkhead, Priority.CRITICAL, null, "high");
        }

        release(bulkhead, 100);

        assertThat(granted).filteredOn("low"::equals).hasSize(2);
        assertThat(granted.get(49)).isEqualTo("low");
        assertThat(granted.get(99)).isEqualTo("low");
    }

    @Test
    void tenantsTakeTurns() {
        QueueingBulkhead bulkhead = full(10);
        enter(bulkhead, Priority.NORMAL, "big", "b1", "b2", "b3", "b4");
        enter(bulkhead, Priority.NORMAL, "small", "s1", "s2");

        release(bulkhead, 6);

        assertThat(granted).containsExactly("b1", "s1", "b2", "s2", "b3", "b4");
    }

    @Test
    void evictsFromTheTenantWithTheMostWaitersAndTurnsOnlyItsQueue() {
        QueueingBulkhead bulkhead = full(5);
        enter(bulkhead, Priority.NORMAL, "big", "b1", "b2", "b3");
        enter(bulkhead, Priority.NORMAL, "small", "s1", "s2");

        enter(bulkhead, Priority.NORMAL, "big", "b4");
        release(bulkhead, 5);

        assertThat(evicted).containsExactly("b1");
        assertThat(granted).containsExactly("b4", "s1", "b3", "s2", "b2");
    }

    @Test
    void aTenantAloneGetsEveryPlaceAndPermit() {
        QueueingBulkhead bulkhead = full(3);
        enter(bulkhead, Priority.NORMAL, "only", "a", "b", "c");

        release(bulkhead, 3);

        assertThat(evicted).isEmpty();
        assertThat(granted).containsExactly("a", "b", "c");
    }

    @Test
    void aMillionTenantNamesShareTheQueue() {
        QueueingBulkhead bulkhead = full(5_000);
        for (int i = 0; i < 1_000_000; i++) {
            bulkhead.enter(new Call("x", Priority.NORMAL, "tenant-" + i));
        }

        assertThat(bulkhead.queued()).isEqualTo(5_000);
        assertThat(evicted).hasSize(995_000);
        assertThat(bulkhead.queuesOfTenants(Priority.NORMAL)).isEqualTo(TenantQueues.MAX_TENANTS + 1);
        release(bulkhead, 5_000);
        assertThat(bulkhead.queuesOfTenants(Priority.NORMAL)).isZero();
    }

    @Test
    void aHigherPriorityTakesThePlaceOfTheNewestLowerOneWhereNewcomersAreRefused() {
        QueueingBulkhead bulkhead = refusing(3);
        enter(bulkhead, Priority.NORMAL, null, "a", "b", "c");

        assertThat(enter(bulkhead, Priority.CRITICAL, null, "d")).containsExactly(Entry.QUEUED);
        assertThat(enter(bulkhead, Priority.NORMAL, null, "e")).containsExactly(Entry.FULL);
        assertThat(enter(bulkhead, Priority.SHEDDABLE, null, "f")).containsExactly(Entry.FULL);
        assertThat(evicted).containsExactly("c");
        release(bulkhead, 3);

        assertThat(granted).containsExactly("d", "a", "b");
        assertThat(bulkhead).hasToString("1 of 1 in use, 0 of 3 queued");
    }

    @Test
    void theReservedPlaceOfALowerPriorityStaysWhereNewcomersAreRefused() {
        QueueingBulkhead bulkhead = refusing(3);
        enter(bulkhead, Priority.CRITICAL, null, "a", "b");
        enter(bulkhead, Priority.SHEDDABLE, null, "c");

        assertThat(enter(bulkhead, Priority.CRITICAL, null, "d")).containsExactly(Entry.FULL);
        assertThat(evicted).isEmpty();
    }

    @Test
    void theOnlyPlaceIsNotReserved() {
        QueueingBulkhead bulkhead = full(1);
        enter(bulkhead, Priority.SHEDDABLE, null, "a");

        enter(bulkhead, Priority.CRITICAL, null, "b");

        assertThat(evicted).containsExactly("a");
    }

    @Test
    void aTenantWithFewerWaitersTakesAPlaceWhereNewcomersAreRefused() {
        QueueingBulkhead bulkhead = refusing(3);
        enter(bulkhead, Priority.NORMAL, "big", "a", "b", "c");

        enter(bulkhead, Priority.NORMAL, "small", "d");
        enter(bulkhead, Priority.NORMAL, "big", "e");
        assertThat(evicted).containsExactly("c", "e");
        release(bulkhead, 3);

        assertThat(granted).containsExactly("a", "d", "b");
    }

    @Test
    void aSmallerQueueEvictsNothingWhereNewcomersAreRefused() {
        QueueingBulkhead bulkhead = refusing(3);
        enter(bulkhead, Priority.SHEDDABLE, null, "a", "b", "c");

        bulkhead.resize(1, 1);

        assertThat(evicted).isEmpty();
        assertThat(bulkhead.queued()).isEqualTo(3);
    }

    @Test
    void countsTheWaitersOfEachPriority() {
        QueueingBulkhead bulkhead = full(4);
        enter(bulkhead, Priority.CRITICAL, null, "a");
        enter(bulkhead, Priority.SHEDDABLE, null, "b", "c");
        Call leaving = new Call("d", Priority.SHEDDABLE, null);
        bulkhead.enter(leaving);
        assertThat(bulkhead.queued(Priority.SHEDDABLE)).isEqualTo(3);

        leaving.leave();
        release(bulkhead, 1);

        assertThat(bulkhead.queued(Priority.CRITICAL)).isZero();
        assertThat(bulkhead.queued(Priority.NORMAL)).isZero();
        assertThat(bulkhead.queued(Priority.SHEDDABLE)).isEqualTo(2);
        enter(bulkhead, Priority.CRITICAL, null, "e", "f", "g");
        assertThat(bulkhead.queued(Priority.SHEDDABLE)).isOne();
    }

    private QueueingBulkhead refusing(int queueCapacity) {
        QueueingBulkhead bulkhead = new QueueingBulkhead(1, queueCapacity);
        bulkhead.tryAcquire();
        return bulkhead;
    }

    private QueueingBulkhead full(int queueCapacity) {
        QueueingBulkhead bulkhead = new QueueingBulkhead(1, queueCapacity, Overflow.EVICT_OLDEST);
        bulkhead.tryAcquire();
        return bulkhead;
    }

    private List<Entry> enter(QueueingBulkhead bulkhead, String... names) {
        return enter(bulkhead, Priority.NORMAL, null, names);
    }

    private List<Entry> enter(QueueingBulkhead bulkhead, Priority priority, @Nullable String tenant, String... names) {
        List<Entry> entries = new ArrayList<>();
        for (String name : names) {
            entries.add(bulkhead.enter(new Call(name, priority, tenant)));
        }
        return entries;
    }

    private static void release(QueueingBulkhead bulkhead, int times) {
        for (int i = 0; i < times; i++) {
            bulkhead.release();
        }
    }

    private Call call(String name) {
        return new Call(name, Priority.NORMAL, null);
    }

    private final class Call extends Waiter {
        private final String name;
        private final Priority priority;
        private final @Nullable String tenant;
        private final boolean isInShare = isGuaranteed;

        Call(String name, Priority priority, @Nullable String tenant) {
            this.name = name;
            this.priority = priority;
            this.tenant = tenant;
        }

        @Override
        protected void granted() {
            granted.add(name);
        }

        @Override
        protected void evicted() {
            evicted.add(name);
        }

        @Override
        protected boolean isGuaranteed() {
            return isInShare;
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
