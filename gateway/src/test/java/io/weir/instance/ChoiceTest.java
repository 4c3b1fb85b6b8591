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
import org.junit.jupiter.api.Test;

/** Which instances get the calls, in virtual time. */
class ChoiceTest {

    private static final long SERVICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Random random = new Random(7);
    private long now = TimeUnit.HOURS.toNanos(1);

    private static final class Server implements Choice.Candidate {
        private final PeakEwma latency = new PeakEwma();
        private final int weight;
        private final long serviceNanos;
        private int inFlight;
        private int calls;
        private boolean isFull;

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
            return false;
        }

        @Override
        public boolean isFull() {
            return isFull;
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

    /** Sends calls at random moments; the service times vary. */
    private void traffic(List<Server> servers, int perSecond, int calls) {
        Choice<Server> choice = new Choice<>(servers, random::nextInt);
        PriorityQueue<Call> underWay = new PriorityQueue<>(Comparator.comparingLong(Call::endsAt));
        for (int i = 0; i < calls; i++) {
            now += (long) (-Math.log(1 - random.nextDouble()) / perSecond * TimeUnit.SECONDS.toNanos(1));
            while (!underWay.isEmpty() && underWay.peek().endsAt() <= now) {
                Call ended = underWay.remove();
                ended.server().inFlight--;
                ended.server().latency.record(ended.tookNanos(), ended.endsAt());
            }
            Server chosen = Objects.requireNonNull(choice.choose(now, null));
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
    void choosesATriedInstanceOnlyWithoutAnother() {
        List<Server> servers = servers(3, 1);
        servers.get(2).inFlight = 100;
        Choice<Server> choice = new Choice<>(servers, random::nextInt);
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
        Choice<Server> choice = new Choice<>(servers, random::nextInt);
        for (int i = 0; i < 20; i++) {
            assertThat(choice.choose(now, null)).isSameAs(servers.get(1));
        }
        servers.get(1).isFull = true;
        assertThat(choice.choose(now, null)).isSameAs(servers.get(0));
    }

    @Test
    void choosesNoneWithoutInstances() {
        assertThat(new Choice<>(List.<Server>of(), random::nextInt).choose(now, null))
                .isNull();
    }

    @Test
    void allocatesNothing() {
        Choice<Server> choice = new Choice<>(servers(200, 1), random::nextInt);
        Choice<Server> weighted =
                new Choice<>(List.of(new Server(1, SERVICE_NANOS), new Server(3, SERVICE_NANOS)), random::nextInt);
        long bytes = Allocation.bytesPer(() -> {
            choice.choose(now, null);
            weighted.choose(now, null);
        });
        assertThat(bytes).isZero();
    }
}
