package io.weir.sim.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.sim.faults.FaultPlan.ResponseFault;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.http.server.PathContainer;

class FaultRegistryTest {

    private static final PathContainer PATH = PathContainer.parsePath("/records");

    private final ManualTimer timer = new ManualTimer();
    private final CountingDatabase taken = new CountingDatabase();
    private final FaultRegistry registry = new FaultRegistry(() -> timer.nanos, timer, taken);

    /** A clock that moves only when the test advances it, and then runs the due actions. */
    private static final class ManualTimer implements FaultRegistry.FaultTimer {
        private record PendingAction(long atNanos, Runnable action) {}

        private final List<PendingAction> pending = new ArrayList<>();
        private long nanos = 5;

        @Override
        public Runnable schedule(Duration delay, Runnable action) {
            PendingAction scheduled = new PendingAction(nanos + delay.toNanos(), action);
            pending.add(scheduled);
            return () -> pending.remove(scheduled);
        }

        private void advanceBy(Duration step) {
            long end = nanos + step.toNanos();
            while (true) {
                PendingAction next = pending.stream()
                        .filter(action -> action.atNanos <= end)
                        .min(java.util.Comparator.comparingLong(PendingAction::atNanos))
                        .orElse(null);
                if (next == null) {
                    nanos = end;
                    return;
                }
                nanos = next.atNanos;
                pending.remove(next);
                next.action.run();
            }
        }
    }

    /** A database that counts the resources that are taken. */
    private static final class CountingDatabase implements DatabaseFaults {
        private int connections;
        private int rows;

        @Override
        public DatabaseHold takeConnections(int wanted) {
            connections++;
            return given(() -> connections--);
        }

        @Override
        public DatabaseHold lockRow(long row) {
            rows++;
            return given(() -> rows--);
        }

        private static DatabaseHold given(Runnable giveBack) {
            return new DatabaseHold() {
                @Override
                public int held() {
                    return 1;
                }

                @Override
                public @Nullable Throwable failure() {
                    return null;
                }

                @Override
                public void close() {
                    giveBack.run();
                }
            };
        }
    }

    private void post(String document) {
        FaultJson.ParsedScript posting = new FaultJson().read(document.getBytes(StandardCharsets.UTF_8));
        registry.replace(posting.faults(), posting.seed());
    }

    private FaultPlan plan() {
        return registry.plan(PATH);
    }

    @Test
    void planIsEmptyWithoutActiveFaults() {
        assertThat(plan()).isSameAs(FaultPlan.NONE);
        assertThat(plan().isEmpty()).isTrue();
    }

    @Test
    void delaysAddUp() {
        post("{\"script\":[{\"kind\":\"latency\",\"delay\":\"100ms\"},{\"kind\":\"latency\",\"delay\":\"50ms\"}]}");

        assertThat(plan().delay()).isEqualTo(Duration.ofMillis(150));
    }

    @Test
    void startsAfterItsDelayAndHealsAfterItsDuration() {
        post("{\"kind\":\"latency\",\"delay\":\"1s\",\"after\":\"10s\",\"duration\":\"5s\"}");

        assertThat(plan().isEmpty()).isTrue();
        assertThat(registry.status().getFirst().active()).isFalse();
        assertThat(registry.status().getFirst().startsIn()).isEqualTo(Duration.ofSeconds(10));
        timer.advanceBy(Duration.ofMillis(9_999));
        assertThat(plan().isEmpty()).isTrue();
        timer.advanceBy(Duration.ofMillis(1));
        assertThat(plan().delay()).isEqualTo(Duration.ofSeconds(1));
        assertThat(registry.status().getFirst().healsIn()).isEqualTo(Duration.ofSeconds(5));
        timer.advanceBy(Duration.ofSeconds(5));
        assertThat(plan().isEmpty()).isTrue();
        assertThat(registry.status()).isEmpty();
        assertThat(timer.pending).isEmpty();
    }

    @Test
    void hangReleasesRequestsWhenItHeals() {
        post("{\"kind\":\"hang\",\"duration\":\"3s\"}");

        CompletableFuture<Void> held = plan().holds().getFirst();
        timer.advanceBy(Duration.ofMillis(2_999));
        assertThat(held).isNotDone();
        timer.advanceBy(Duration.ofMillis(1));
        assertThat(held).isCompleted();
    }

    @Test
    void replacingHealsActiveFaultsAndRemovesScheduledOnes() {
        post("{\"script\":[{\"kind\":\"hang\"},{\"kind\":\"reset\",\"after\":\"1s\"}]}");
        CompletableFuture<Void> held = plan().holds().getFirst();

        post("{\"kind\":\"latency\",\"delay\":\"1ms\"}");

        assertThat(held).isCompleted();
        timer.advanceBy(Duration.ofSeconds(2));
        assertThat(plan().responseFault()).isEqualTo(new ResponseFault.None());
        assertThat(registry.status()).hasSize(1);
    }

    @Test
    void resetPrecedesErrorsWhichPrecedeBodyFaults() {
        String trickle = "{\"kind\":\"trickle\"}";
        String truncate = "{\"kind\":\"truncate\"}";
        String errors = "{\"kind\":\"errors\",\"shares\":{\"500\":1}}";
        String reset = "{\"kind\":\"reset\"}";

        post("{\"script\":[" + trickle + "," + truncate + "," + errors + "," + reset + "]}");
        assertThat(plan().responseFault()).isEqualTo(new ResponseFault.ConnectionReset());
        post("{\"script\":[" + trickle + "," + truncate + "," + errors + "]}");
        assertThat(plan().responseFault()).isEqualTo(new ResponseFault.ErrorStatus(500));
        post("{\"script\":[" + trickle + "," + truncate + "]}");
        assertThat(plan().responseFault()).isEqualTo(new ResponseFault.TruncatedBody(0.5));
        post("{\"script\":[" + trickle + "]}");
        assertThat(plan().responseFault()).isEqualTo(new ResponseFault.TrickledBody(1, Duration.ofSeconds(1)));
    }

    @Test
    void errorsFollowTheirSharesAndRepeatWithTheSameSeed() {
        String document = "{\"seed\":5,\"script\":[{\"kind\":\"errors\",\"shares\":{\"500\":0.1,\"503\":0.25}}]}";

        post(document);
        List<ResponseFault> first = responseFaults(10_000);
        post(document);

        assertThat(responseFaults(10_000)).isEqualTo(first);
        assertThat(share(first, 500)).isBetween(0.085, 0.115);
        assertThat(share(first, 503)).isBetween(0.23, 0.27);
        post(document.replace("\"seed\":5", "\"seed\":6"));
        assertThat(responseFaults(10_000)).isNotEqualTo(first);
    }

    @Test
    void affectsRequestsWithItsProbability() {
        post("{\"kind\":\"latency\",\"delay\":\"1ms\",\"probability\":0.2}");

        long affected = IntStream.range(0, 10_000)
                .filter(_ -> plan().delay().isPositive())
                .count();
        assertThat(affected).isBetween(1_850L, 2_150L);
        assertThat(registry.countHits(FaultKind.LATENCY)).isEqualTo(affected);
    }

    @Test
    void affectsOnlyItsPath() {
        post("{\"kind\":\"cpu\",\"burn\":\"1ms\",\"path\":\"/records/*\"}");

        assertThat(registry.plan(PathContainer.parsePath("/records/slow")).burn())
                .isEqualTo(Duration.ofMillis(1));
        assertThat(registry.plan(PathContainer.parsePath("/delay")).isEmpty()).isTrue();
    }

    @Test
    void slowStartDelayShrinksToZero() {
        post("{\"kind\":\"slow-start\",\"delay\":\"2s\",\"ramp\":\"10s\"}");

        assertThat(plan().delay()).isEqualTo(Duration.ofSeconds(2));
        timer.advanceBy(Duration.ofSeconds(5));
        assertThat(plan().delay()).isEqualTo(Duration.ofSeconds(1));
        timer.advanceBy(Duration.ofSeconds(5));
        assertThat(plan().delay()).isZero();
        timer.advanceBy(Duration.ofSeconds(60));
        assertThat(plan().delay()).isZero();
    }

    @Test
    void takesDatabaseResourcesOnceAndReleasesThem() {
        post("{\"script\":[{\"kind\":\"pool\",\"duration\":\"5s\"},{\"kind\":\"lock\",\"after\":\"1s\"}]}");

        assertThat(taken.connections).isEqualTo(1);
        assertThat(taken.rows).isZero();
        plan();
        plan();
        assertThat(taken.connections).isEqualTo(1);
        timer.advanceBy(Duration.ofSeconds(1));
        assertThat(taken.rows).isEqualTo(1);
        timer.advanceBy(Duration.ofSeconds(4));
        assertThat(taken.connections).isZero();
        registry.heal();
        assertThat(taken.rows).isZero();
    }

    @Test
    void takesDatabaseResourcesWithTheFirstRequestOnItsPath() {
        post("{\"kind\":\"pool\",\"path\":\"/records\"}");

        registry.plan(PathContainer.parsePath("/delay"));
        assertThat(taken.connections).isZero();
        plan();
        plan();
        assertThat(taken.connections).isEqualTo(1);
    }

    @Test
    void countsActiveFaults() {
        post("{\"script\":[{\"kind\":\"hang\"},{\"kind\":\"hang\"},{\"kind\":\"reset\",\"after\":\"1s\"}]}");

        assertThat(registry.countActive(FaultKind.HANG)).isEqualTo(2);
        assertThat(registry.countActive(FaultKind.RESET)).isZero();
        timer.advanceBy(Duration.ofSeconds(1));
        assertThat(registry.countActive(FaultKind.RESET)).isEqualTo(1);
    }

    @Test
    void truncatedBodyAlwaysLacksItsLastByte() {
        assertThat(new ResponseFault.TruncatedBody(0.5).lengthOf(100)).isEqualTo(50);
        assertThat(new ResponseFault.TruncatedBody(0.999).lengthOf(10)).isEqualTo(9);
        assertThat(new ResponseFault.TruncatedBody(0).lengthOf(10)).isZero();
        assertThat(new ResponseFault.TruncatedBody(0.5).lengthOf(0)).isZero();
    }

    private List<ResponseFault> responseFaults(int requests) {
        return IntStream.range(0, requests)
                .mapToObj(_ -> plan().responseFault())
                .toList();
    }

    private static double share(List<ResponseFault> responseFaults, int status) {
        return (double) responseFaults.stream()
                        .filter(new ResponseFault.ErrorStatus(status)::equals)
                        .count()
                / responseFaults.size();
    }
}
