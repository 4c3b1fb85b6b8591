package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Allocation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which instances get the calls, in virtual time. */
class ChoiceTest {

    private static final long SERVICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int KEYS = 10_000;

    private final Random random = new Random(7);
    private long now = TimeUnit.HOURS.toNanos(1);

    private static final class Server implements Choice.Candidate {
        private final PeakEwma latency = new PeakEwma();
        private final Exploration exploration = new Exploration();
        private final int weight;
        private final long serviceNanos;
        private int inFlight;
        private final SlowStart slowStart = new SlowStart();
        private int calls;
        private boolean isFull;
        private boolean isLate;
        private int coolDownFailures;
        private boolean isAtShare;
        private boolean isOut;
        private boolean isLeftAlone;

        Server(int weight, long serviceNanos) {
            this.weight = weight;
            this.serviceNanos = serviceNanos;
        }

        @Override
        public int weight() {
            return weight;
        }

        @Override
        public int inFlight() {
            return inFlight;
        }

        @Override
        public long latencyNanos(long now) {
            return latency.nanos(now);
        }

        @Override
        public boolean isLate(long now) {
            return isLate;
        }

        @Override
        public int coolDownFailures(long now) {
            return coolDownFailures;
        }

        @Override
        public boolean isExplorationDue(long now) {
            return inFlight == 0 && exploration.isDue(now);
        }

        void answered(long tookNanos, long now) {
            exploration.answered(tookNanos, latency.lastNanos(), now);
            latency.record(tookNanos, now);
        }

        @Override
        public boolean isLeftAlone(long now) {
            return isLeftAlone;
        }

        @Override
        public boolean isFull() {
            return isFull;
        }

        @Override
        public boolean isIn() {
            return !isOut;
        }

        @Override
        public boolean isAtShare() {
            return isAtShare;
        }

        @Override
        public double slowStartFactor(long now, long windowNanos) {
            return slowStart.factor(now, windowNanos);
        }

        @Override
        public long slowStartLeftNanos(long now, long windowNanos) {
            return slowStart.leftNanos(now, windowNanos);
        }
    }

    private record Call(Server server, long endsAt, long tookNanos) {}

    private static List<Server> servers(int count, int weight) {
        List<Server> servers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            servers.add(new Server(weight, SERVICE_NANOS));
        }
        return servers;
    }

    /** Two instances with an answer each; that of the first one has taken so many times as long. */
    private List<Server> twoOfWhichTheFirstIsSlower(int times) {
        List<Server> servers = servers(2, 1);
        servers.forEach(server -> server.answered(SERVICE_NANOS, now));
        servers.getFirst().answered(times * SERVICE_NANOS, now);
        return servers;
    }

    private Choice<Server> choice(List<Server> servers) {
        return new Choice<>(servers.stream().filter(Server::isIn).toList(), WINDOW_NANOS, now, random::nextInt);
    }

    private static HashRing<Server> ring(List<Server> servers) {
        return new HashRing<>(servers, server -> "http://orders-" + servers.indexOf(server) + ":8080");
    }

    /** Sends calls at random moments; the service times vary. */
    private void traffic(List<Server> servers, int perSecond, int calls) {
        Choice<Server> choice = choice(servers);
        traffic(perSecond, calls, underWay -> choice.choose(now, null));
    }

    private void traffic(int perSecond, int calls, IntFunction<@Nullable Server> policy) {
        PriorityQueue<Call> underWay = new PriorityQueue<>(Comparator.comparingLong(Call::endsAt));
        for (int i = 0; i < calls; i++) {
            now += (long) (-Math.log(1 - random.nextDouble()) / perSecond * TimeUnit.SECONDS.toNanos(1));
            while (!underWay.isEmpty() && underWay.peek().endsAt() <= now) {
                Call ended = underWay.remove();
                ended.server().inFlight--;
                ended.server().answered(ended.tookNanos(), ended.endsAt());
            }
            Server chosen = Objects.requireNonNull(policy.apply(underWay.size() + 1));
            chosen.inFlight++;
            chosen.calls++;
            long took = (long) (chosen.serviceNanos * (0.5 + random.nextDouble()));
            underWay.add(new Call(chosen, now + took, took));
        }
        underWay.forEach(call -> call.server().inFlight--);
    }

    @Test
    void balancesTwoHundredInstancesWithinTenPercent() {
        for (int perSecond : List.of(2_000, 20_000)) {
            List<Server> servers = servers(200, 1);
            traffic(servers, perSecond, 400_000);
            assertThat(servers)
                    .as("at %d/s", perSecond)
                    .allSatisfy(server -> assertThat(server.calls).isBetween(1_800, 2_200));
        }
    }

    @Test
    void dividesCallsByWeight() {
        for (int perSecond : List.of(10, 1_000)) {
            List<Server> servers =
                    List.of(new Server(1, SERVICE_NANOS), new Server(2, SERVICE_NANOS), new Server(5, SERVICE_NANOS));
            traffic(servers, perSecond, 40_000);
            assertThat(servers.get(0).calls).as("at %d/s", perSecond).isBetween(4_000, 6_500);
            assertThat(servers.get(1).calls).as("at %d/s", perSecond).isBetween(8_500, 12_000);
            assertThat(servers.get(2).calls).as("at %d/s", perSecond).isBetween(22_500, 27_000);
        }
    }

    @Test
    void givesASlowInstanceLittle() {
        List<Server> servers = servers(2, 1);
        Server slow = new Server(1, 10 * SERVICE_NANOS);
        servers.add(slow);
        traffic(servers, 300, 30_000);
        assertThat(slow.calls).isLessThan(300);
    }

    @Test
    void triesASlowInstanceAgainAfterSomeTime() {
        List<Server> servers = servers(3, 1);
        servers.forEach(server -> server.latency.record(SERVICE_NANOS, now));
        servers.getFirst().latency.record(20 * SERVICE_NANOS, now);
        traffic(servers, 50, 50 * 60);
        assertThat(servers.getFirst().calls).isGreaterThan(100);
    }

    @Test
    void exploresAnInstanceThatWasSlowOnceAfterFewCalls() {
        List<Server> servers = twoOfWhichTheFirstIsSlower(20);
        Server late = servers.getFirst();
        Choice<Server> choice = choice(servers);
        for (int i = 1; i < 8; i++) {
            assertThat(choice.choose(now, null)).as("call %d", i).isNotSameAs(late);
        }
        assertThat(choice.choose(now, null)).isSameAs(late);
        assertThat(choice.choose(now, null)).as("the answer is under way").isNotSameAs(late);
        late.answered(SERVICE_NANOS, now + TimeUnit.SECONDS.toNanos(4));
        now += TimeUnit.SECONDS.toNanos(4);
        servers.get(1).answered(SERVICE_NANOS, now);
        servers.get(1).inFlight = 1;
        assertThat(choice.choose(now, null)).as("alike again").isSameAs(late);
    }

    /** At two calls a second, the eighth lost call would come many seconds later. */
    @Test
    void exploresAnInstanceThatWasSlowOnceAfterSomeSecondsWhereCallsAreRare() {
        List<Server> servers = twoOfWhichTheFirstIsSlower(100);
        Server late = servers.getFirst();
        Choice<Server> choice = choice(servers);
        List<Long> exploredAfterMillis = new ArrayList<>();
        long answered = now;
        for (int i = 0; i < 25; i++) {
            now += TimeUnit.SECONDS.toNanos(1);
            servers.get(1).answered(SERVICE_NANOS, now);
            if (choice.choose(now, null) == late) {
                exploredAfterMillis.add(TimeUnit.NANOSECONDS.toMillis(now - answered));
                // It is slow all the time.
                late.answered(100 * SERVICE_NANOS, now);
            }
        }
        assertThat(exploredAfterMillis).containsExactly(3_000L, 9_000L, 21_000L);
    }

    @Test
    void exploresAnInstanceThatStaysSlowMoreAndMoreRarely() {
        List<Server> servers = twoOfWhichTheFirstIsSlower(10);
        Server slow = servers.getFirst();
        Choice<Server> choice = choice(servers);
        List<Integer> explored = new ArrayList<>();
        for (int i = 1; i <= 1100; i++) {
            if (choice.choose(now, null) == slow) {
                explored.add(i);
                slow.answered(10 * SERVICE_NANOS, now);
            }
        }
        assertThat(explored).containsExactly(8, 24, 56, 120, 248, 504, 760, 1016);
    }

    @Test
    void prefersAnotherInstanceToOneThatCoolsDown() {
        List<Server> servers = servers(3, 1);
        Server failing = servers.getFirst();
        failing.coolDownFailures = 2;
        failing.latency.record(1_000_000, now);
        servers.get(1).latency.record(40 * SERVICE_NANOS, now);
        servers.get(2).latency.record(40 * SERVICE_NANOS, now);
        servers.get(2).inFlight = 20;
        Choice<Server> choice = choice(servers);
        for (int i = 0; i < 100; i++) {
            assertThat(choice.choose(now, null)).isNotSameAs(failing);
            assertThat(choice.choose(now, new TriedInstances(servers.get(1), null)))
                    .isSameAs(servers.get(2));
        }
    }

    @Test
    void prefersTheOthersToOneThatAskedToBeLeftAlone() {
        List<Server> servers = servers(3, 1);
        Server alone = servers.getFirst();
        alone.isLeftAlone = true;
        servers.get(1).inFlight = 20;
        servers.get(2).inFlight = 20;
        Choice<Server> choice = choice(servers);
        for (int i = 0; i < 100; i++) {
            assertThat(choice.choose(now, null)).isNotSameAs(alone);
            assertThat(choice.choose(now, new TriedInstances(servers.get(1), null)))
                    .as("a retry")
                    .isSameAs(servers.get(2));
        }
        TriedInstances others = new TriedInstances(servers.get(1), new TriedInstances(servers.get(2), null));
        assertThat(choice.choose(now, others)).as("a retry").isNotSameAs(alone);
    }

    @Test
    void sendsToOneThatAskedToBeLeftAloneWhatExceedsTheSharesOfTheOthers() {
        List<Server> servers = servers(2, 1);
        servers.getFirst().isLeftAlone = true;
        servers.get(1).inFlight = 20;
        servers.get(1).isAtShare = true;

        assertThat(choice(servers).choose(now, null)).isSameAs(servers.getFirst());
    }

    @Test
    void choosesByLoadWhereAllAskedToBeLeftAlone() {
        List<Server> servers = servers(3, 1);
        servers.forEach(server -> server.isLeftAlone = true);
        traffic(servers, 300, 3_000);
        assertThat(servers).allSatisfy(server -> assertThat(server.calls).isBetween(800, 1_200));
    }

    @Test
    void choosesByLoadWhereAllCoolDown() {
        List<Server> servers = servers(3, 1);
        servers.forEach(server -> server.coolDownFailures = 3);
        traffic(servers, 300, 3_000);
        assertThat(servers).allSatisfy(server -> assertThat(server.calls).isBetween(800, 1_200));
    }

    @Test
    void choosesAnInstanceThatCoolsDownWhereTheOtherOneMayHang() {
        List<Server> servers = servers(2, 1);
        Server failing = servers.getFirst();
        Server late = servers.get(1);
        failing.coolDownFailures = 3;
        failing.latency.record(SERVICE_NANOS, now);
        late.isLate = true;
        late.latency.record(40 * SERVICE_NANOS, now);
        for (int i = 0; i < 20; i++) {
            late.inFlight = 7;
            assertThat(choice(servers).choose(now, null)).as("may be cold").isSameAs(late);
            late.inFlight = 8;
            assertThat(choice(servers).choose(now, null)).as("may hang").isSameAs(failing);
        }
    }

    @Test
    void choosesATriedInstanceOnlyWithoutAnother() {
        List<Server> servers = servers(3, 1);
        servers.get(2).inFlight = 100;
        Choice<Server> choice = choice(servers);
        TriedInstances first = new TriedInstances(servers.get(0), null);
        TriedInstances two = new TriedInstances(servers.get(1), first);
        TriedInstances all = new TriedInstances(servers.get(2), two);
        for (int i = 0; i < 20; i++) {
            assertThat(choice.choose(now, first)).isSameAs(servers.get(1));
            assertThat(choice.choose(now, two)).isSameAs(servers.get(2));
            assertThat(choice.choose(now, all)).isNotSameAs(servers.get(2));
        }
    }

    @Test
    void choosesAFullInstanceOnlyWithoutAnother() {
        List<Server> servers = servers(2, 1);
        servers.get(0).isFull = true;
        servers.get(1).inFlight = 100;
        Choice<Server> choice = choice(servers);
        for (int i = 0; i < 20; i++) {
            assertThat(choice.choose(now, null)).isSameAs(servers.get(1));
        }
        servers.get(1).isFull = true;
        assertThat(choice.choose(now, null)).isSameAs(servers.get(0));
    }

    @Test
    void choosesNoneWithoutInstances() {
        assertThat(choice(List.of()).choose(now, null)).isNull();
    }

    // ---------------------------------------------------------------- slow start

    @Test
    void givesAStartingInstanceATenthAtFirstAndThenMore() {
        List<Server> servers = servers(3, 1);
        servers.getFirst().slowStart.begin(now);
        int[] calls = new int[4];
        for (int third = 0; third < calls.length; third++) {
            long moment = now + third * WINDOW_NANOS / 3;
            Choice<Server> choice = choice(servers);
            for (int i = 0; i < 3_000; i++) {
                if (choice.choose(moment, null) == servers.getFirst()) {
                    calls[third]++;
                }
            }
        }
        assertThat(calls[0]).as("at a tenth").isBetween(90, 220);
        assertThat(calls[1]).as("at a third").isBetween(calls[0], 600);
        assertThat(calls[2]).as("at two thirds").isBetween(calls[1], 900);
        assertThat(calls[3]).as("after the slow start").isBetween(900, 1_100);
    }

    @Test
    void givesAStartingInstanceFewerCallsUnderLoad() {
        List<Server> servers = servers(3, 1);
        servers.getFirst().slowStart.begin(now);
        traffic(servers, 1_000, 1_000);
        assertThat(servers.getFirst().calls).isLessThan(120);
    }

    @Test
    void dividesEquallyWhileAllInstancesStart() {
        List<Server> servers = servers(3, 1);
        servers.forEach(server -> server.slowStart.begin(now));
        traffic(servers, 300, 3_000);
        assertThat(servers).allSatisfy(server -> assertThat(server.calls).isBetween(900, 1_100));
    }

    @Test
    void usesAStartingInstanceWhereTheOthersHaveTheirShareOfTheLimit() {
        List<Server> servers = servers(2, 1);
        servers.getFirst().slowStart.begin(now);
        servers.get(1).inFlight = 30;
        Choice<Server> choice = choice(servers);
        for (int i = 0; i < 20; i++) {
            servers.get(1).isAtShare = true;
            assertThat(choice.choose(now, null)).isSameAs(servers.getFirst());
        }
    }

    // ---------------------------------------------------------------- round-robin

    @Test
    void takesTurns() {
        List<Server> servers = servers(3, 1);
        RoundRobin<Server> roundRobin = new RoundRobin<>(choice(servers), new AtomicInteger());
        for (int i = 0; i < 9; i++) {
            Objects.requireNonNull(roundRobin.choose(now)).calls++;
        }
        assertThat(servers).extracting(server -> server.calls).containsExactly(3, 3, 3);
    }

    @Test
    void takesTurnsByWeight() {
        List<Server> servers =
                List.of(new Server(1, SERVICE_NANOS), new Server(2, SERVICE_NANOS), new Server(5, SERVICE_NANOS));
        RoundRobin<Server> roundRobin = new RoundRobin<>(choice(servers), new AtomicInteger());
        int lastInARow = 0;
        for (int i = 0; i < 800; i++) {
            Server next = Objects.requireNonNull(roundRobin.choose(now));
            next.calls++;
            lastInARow = next == servers.getLast() ? lastInARow + 1 : 0;
            assertThat(lastInARow).as("in a row").isLessThanOrEqualTo(4);
        }
        assertThat(servers.get(0).calls).isBetween(97, 103);
        assertThat(servers.get(1).calls).isBetween(197, 203);
        assertThat(servers.get(2).calls).isBetween(497, 503);
    }

    @Test
    void passesTheTurnOfAFullInstanceToAllOthers() {
        List<Server> servers = servers(4, 1);
        servers.getFirst().isFull = true;
        RoundRobin<Server> roundRobin = new RoundRobin<>(choice(servers), new AtomicInteger());
        for (int i = 0; i < 300; i++) {
            Objects.requireNonNull(roundRobin.choose(now)).calls++;
        }
        assertThat(servers).extracting(server -> server.calls).containsExactly(0, 100, 100, 100);
        servers.forEach(server -> server.isFull = true);
        assertThat(roundRobin.choose(now)).isNull();
    }

    // ---------------------------------------------------------------- hash

    private @Nullable Server owner(HashRing<Server> ring, List<Server> servers, int key) {
        return ring.choose(choice(servers), HashKey.hash("user-" + key), now, null, 1);
    }

    private List<@Nullable Server> owners(HashRing<Server> ring, List<Server> servers) {
        Choice<Server> in = choice(servers);
        List<@Nullable Server> owners = new ArrayList<>();
        for (int key = 0; key < KEYS; key++) {
            owners.add(ring.choose(in, HashKey.hash("user-" + key), now, null, 1));
        }
        return owners;
    }

    @Test
    void dividesKeysByWeight() {
        List<Server> servers = servers(9, 2);
        servers.add(new Server(1, SERVICE_NANOS));
        owners(ring(servers), servers).forEach(owner -> Objects.requireNonNull(owner).calls++);
        double each = KEYS / 9.5;
        assertThat(servers.subList(0, 9))
                .allSatisfy(server -> assertThat((double) server.calls).isBetween(0.85 * each, 1.15 * each));
        assertThat((double) servers.getLast().calls).isBetween(0.4 * each, 0.6 * each);
    }

    @Test
    void movesOnlyTheKeysOfAnInstanceThatLeaves() {
        List<Server> servers = servers(10, 1);
        HashRing<Server> ring = ring(servers);
        List<@Nullable Server> before = owners(ring, servers);
        Server gone = servers.get(3);
        gone.isOut = true;
        List<@Nullable Server> after = owners(ring, servers);
        for (int key = 0; key < KEYS; key++) {
            if (before.get(key) == gone) {
                assertThat(after.get(key)).isNotSameAs(gone).isNotNull();
                Objects.requireNonNull(after.get(key)).calls++;
            } else {
                assertThat(after.get(key)).isSameAs(before.get(key));
            }
        }
        assertThat(servers)
                .filteredOn(server -> server != gone)
                .as("all others share its keys")
                .allSatisfy(server -> assertThat(server.calls).isBetween(60, 170));

        gone.isOut = false;
        assertThat(owners(ring, servers)).as("its keys return").isEqualTo(before);

        List<Server> fewer = new ArrayList<>(servers);
        fewer.remove(gone);
        HashRing<Server> without =
                new HashRing<>(fewer, server -> "http://orders-" + servers.indexOf(server) + ":8080");
        assertThat(owners(without, fewer))
                .as("another ring without the instance")
                .isEqualTo(after);
    }

    @Test
    void sendsEachKeyToItsInstance() {
        for (int count : List.of(3, 20)) {
            for (int perSecond : List.of(20, 300, 5_000, 20_000)) {
                List<Server> servers = servers(count, 1);
                HashRing<Server> ring = ring(servers);
                Choice<Server> in = choice(servers);
                List<@Nullable Server> owners = owners(ring, servers);
                int[] moved = new int[1];
                traffic(perSecond, 40_000, underWay -> {
                    int key = random.nextInt(KEYS);
                    Server chosen = ring.choose(in, HashKey.hash("user-" + key), now, null, underWay);
                    moved[0] += chosen == owners.get(key) ? 0 : 1;
                    return chosen;
                });
                assertThat(moved[0]).as("%d instances, %d/s", count, perSecond).isLessThanOrEqualTo(400);
            }
        }
    }

    @Test
    void boundsTheLoadOfAnInstanceWithAFrequentKey() {
        List<Server> servers = servers(10, 1);
        HashRing<Server> ring = ring(servers);
        Choice<Server> in = choice(servers);
        Server owner = Objects.requireNonNull(owner(ring, servers, 0));
        int[] most = new int[1];
        int[] others = new int[2];
        List<@Nullable Server> owners = owners(ring, servers);
        // Half of the calls have one key; on average 400 calls are under way.
        traffic(20_000, 40_000, underWay -> {
            int key = random.nextBoolean() ? 0 : random.nextInt(KEYS);
            Server chosen = ring.choose(in, HashKey.hash("user-" + key), now, null, underWay);
            most[0] = Math.max(most[0], owner.inFlight);
            if (key != 0 && owners.get(key) != owner) {
                others[0]++;
                others[1] += chosen == owners.get(key) ? 1 : 0;
            }
            return chosen;
        });
        assertThat(most[0]).as("calls in the owner of the frequent key").isLessThan(90);
        assertThat((double) others[1] / others[0])
                .as("other keys at their instance")
                .isGreaterThan(0.75);
    }

    @Test
    void sendsAKeyElsewhereWhereItsInstanceIsFullOrHasFailedTheCall() {
        List<Server> servers = servers(3, 1);
        HashRing<Server> ring = ring(servers);
        Server owner = Objects.requireNonNull(owner(ring, servers, 0));
        owner.isFull = true;
        Server second = Objects.requireNonNull(owner(ring, servers, 0));
        assertThat(second).isNotSameAs(owner);
        owner.isFull = false;
        TriedInstances tried = new TriedInstances(owner, null);
        assertThat(ring.choose(choice(servers), HashKey.hash("user-0"), now, tried, 1))
                .isSameAs(second);
        servers.forEach(server -> server.isFull = true);
        assertThat(owner(ring, servers, 0)).isNull();
    }

    @Test
    void returnsKeysOneByOneDuringASlowStart() {
        List<Server> servers = servers(4, 1);
        HashRing<Server> ring = ring(servers);
        List<@Nullable Server> settled = owners(ring, servers);
        Server starting = servers.getFirst();
        long keys = settled.stream().filter(owner -> owner == starting).count();
        starting.slowStart.begin(now);
        long before = 0;
        for (int tenth = 1; tenth <= 10; tenth++) {
            List<@Nullable Server> owners = owners(ring, servers);
            long back = owners.stream().filter(owner -> owner == starting).count();
            assertThat((double) back / keys)
                    .as("back after %d s", tenth - 1)
                    .isBetween((tenth - 1.5) / 10, (tenth + 0.5) / 10);
            assertThat(back).isGreaterThanOrEqualTo(before);
            before = back;
            now += WINDOW_NANOS / 10;
        }
        assertThat(owners(ring, servers)).isEqualTo(settled);
    }

    @Test
    void allocatesNothing() {
        List<Server> servers = servers(200, 1);
        Choice<Server> choice = choice(servers);
        Choice<Server> weighted = choice(List.of(new Server(1, SERVICE_NANOS), new Server(3, SERVICE_NANOS)));
        RoundRobin<Server> roundRobin = new RoundRobin<>(choice, new AtomicInteger());
        HashRing<Server> ring = ring(servers);
        servers.getFirst().slowStart.begin(now);
        Choice<Server> slow = choice(servers);
        servers.get(1).coolDownFailures = 2;
        servers.get(2).isLeftAlone = true;
        for (int i = 2; i < servers.size(); i++) {
            servers.get(i).answered(i % 2 == 0 ? SERVICE_NANOS : 9 * SERVICE_NANOS, now);
        }
        long bytes = Allocation.bytesPer(() -> {
            choice.choose(now, null);
            weighted.choose(now, null);
            slow.choose(now, null);
            roundRobin.choose(now);
            ring.choose(slow, random.nextLong(), now, null, 1);
        });
        assertThat(bytes).isZero();
    }
}
