package io.weir.sim.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.sim.faults.FaultPlan.Ending;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.http.server.PathContainer;

class FaultBoardTest {

    private static final PathContainer PATH = PathContainer.parsePath("/records");

    private final Time time = new Time();
    private final Taken taken = new Taken();
    private final FaultBoard board = new FaultBoard(() -> time.nanos, time, taken);

    /** Time that stands still until it is told to go on; then it rings the alarms on its way. */
    private static final class Time implements FaultBoard.Alarm {
        private record Set(long atNanos, Runnable action) {}

        private final List<Set> alarms = new ArrayList<>();
        private long nanos = 5;

        @Override
        public Runnable in(Duration in, Runnable action) {
            Set alarm = new Set(nanos + in.toNanos(), action);
            alarms.add(alarm);
            return () -> alarms.remove(alarm);
        }

        private void goOn(Duration by) {
            long end = nanos + by.toNanos();
            while (true) {
                Set next = alarms.stream()
                        .filter(alarm -> alarm.atNanos <= end)
                        .min(java.util.Comparator.comparingLong(Set::atNanos))
                        .orElse(null);
                if (next == null) {
                    nanos = end;
                    return;
                }
                nanos = next.atNanos;
                alarms.remove(next);
                next.action.run();
            }
        }
    }

    /** A database that counts what is taken from it. */
    private static final class Taken implements DatabaseFaults {
        private int connections;
        private int rows;

        @Override
        public Seizure takeConnections(int wanted) {
            connections++;
            return given(() -> connections--);
        }

        @Override
        public Seizure lockRow(long row) {
            rows++;
            return given(() -> rows--);
        }

        private static Seizure given(Runnable giveBack) {
            return new Seizure() {
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
        FaultsDocuments.Posting posting = new FaultsDocuments().read(document.getBytes(StandardCharsets.UTF_8));
        board.replace(posting.faults(), posting.seed());
    }

    private FaultPlan plan() {
        return board.plan(PATH);
    }

    @Test
    void plansNothingWhileNothingIsOn() {
        assertThat(plan()).isSameAs(FaultPlan.NONE);
        assertThat(plan().isNothing()).isTrue();
    }

    @Test
    void delaysAddUp() {
        post("{\"script\":[{\"kind\":\"latency\",\"delay\":\"100ms\"},{\"kind\":\"latency\",\"delay\":\"50ms\"}]}");

        assertThat(plan().delay()).isEqualTo(Duration.ofMillis(150));
    }

    @Test
    void beginsAfterItsTimeAndHealsAfterItsDuration() {
        post("{\"kind\":\"latency\",\"delay\":\"1s\",\"after\":\"10s\",\"duration\":\"5s\"}");

        assertThat(plan().isNothing()).isTrue();
        assertThat(board.status().getFirst().on()).isFalse();
        assertThat(board.status().getFirst().startsIn()).isEqualTo(Duration.ofSeconds(10));
        time.goOn(Duration.ofMillis(9_999));
        assertThat(plan().isNothing()).isTrue();
        time.goOn(Duration.ofMillis(1));
        assertThat(plan().delay()).isEqualTo(Duration.ofSeconds(1));
        assertThat(board.status().getFirst().healsIn()).isEqualTo(Duration.ofSeconds(5));
        time.goOn(Duration.ofSeconds(5));
        assertThat(plan().isNothing()).isTrue();
        assertThat(board.status()).isEmpty();
        assertThat(time.alarms).isEmpty();
    }

    @Test
    void hangIsLetGoWhenItHeals() {
        post("{\"kind\":\"hang\",\"duration\":\"3s\"}");

        CompletableFuture<Void> held = plan().holds().getFirst();
        time.goOn(Duration.ofMillis(2_999));
        assertThat(held).isNotDone();
        time.goOn(Duration.ofMillis(1));
        assertThat(held).isCompleted();
    }

    @Test
    void replacingHealsWhatWasOnAndForgetsWhatWasToCome() {
        post("{\"script\":[{\"kind\":\"hang\"},{\"kind\":\"reset\",\"after\":\"1s\"}]}");
        CompletableFuture<Void> held = plan().holds().getFirst();

        post("{\"kind\":\"latency\",\"delay\":\"1ms\"}");

        assertThat(held).isCompleted();
        time.goOn(Duration.ofSeconds(2));
        assertThat(plan().ending()).isEqualTo(new Ending.Work());
        assertThat(board.status()).hasSize(1);
    }

    @Test
    void resetGoesBeforeErrorsAndThoseBeforeWhatIsDoneToBodies() {
        String trickle = "{\"kind\":\"trickle\"}";
        String truncate = "{\"kind\":\"truncate\"}";
        String errors = "{\"kind\":\"errors\",\"shares\":{\"500\":1}}";
        String reset = "{\"kind\":\"reset\"}";

        post("{\"script\":[" + trickle + "," + truncate + "," + errors + "," + reset + "]}");
        assertThat(plan().ending()).isEqualTo(new Ending.Reset());
        post("{\"script\":[" + trickle + "," + truncate + "," + errors + "]}");
        assertThat(plan().ending()).isEqualTo(new Ending.Status(500));
        post("{\"script\":[" + trickle + "," + truncate + "]}");
        assertThat(plan().ending()).isEqualTo(new Ending.Truncated(0.5));
        post("{\"script\":[" + trickle + "]}");
        assertThat(plan().ending()).isEqualTo(new Ending.Trickled(1, Duration.ofSeconds(1)));
    }

    @Test
    void errorsComeInTheirSharesAndTheSameForTheSameSeed() {
        String document = "{\"seed\":5,\"script\":[{\"kind\":\"errors\",\"shares\":{\"500\":0.1,\"503\":0.25}}]}";

        post(document);
        List<Ending> first = endings(10_000);
        post(document);

        assertThat(endings(10_000)).isEqualTo(first);
        assertThat(share(first, 500)).isBetween(0.085, 0.115);
        assertThat(share(first, 503)).isBetween(0.23, 0.27);
        post(document.replace("\"seed\":5", "\"seed\":6"));
        assertThat(endings(10_000)).isNotEqualTo(first);
    }

    @Test
    void strikesWithItsProbability() {
        post("{\"kind\":\"latency\",\"delay\":\"1ms\",\"probability\":0.2}");

        long struck = IntStream.range(0, 10_000)
                .filter(_ -> plan().delay().isPositive())
                .count();
        assertThat(struck).isBetween(1_850L, 2_150L);
        assertThat(board.countHits(FaultKind.LATENCY)).isEqualTo(struck);
    }

    @Test
    void strikesOnItsPathOnly() {
        post("{\"kind\":\"cpu\",\"burn\":\"1ms\",\"path\":\"/records/*\"}");

        assertThat(board.plan(PathContainer.parsePath("/records/slow")).burn()).isEqualTo(Duration.ofMillis(1));
        assertThat(board.plan(PathContainer.parsePath("/delay")).isNothing()).isTrue();
    }

    @Test
    void slowStartShrinksToNothing() {
        post("{\"kind\":\"slow-start\",\"delay\":\"2s\",\"ramp\":\"10s\"}");

        assertThat(plan().delay()).isEqualTo(Duration.ofSeconds(2));
        time.goOn(Duration.ofSeconds(5));
        assertThat(plan().delay()).isEqualTo(Duration.ofSeconds(1));
        time.goOn(Duration.ofSeconds(5));
        assertThat(plan().delay()).isZero();
        time.goOn(Duration.ofSeconds(60));
        assertThat(plan().delay()).isZero();
    }

    @Test
    void takesFromTheDatabaseOnceAndGivesItBack() {
        post("{\"script\":[{\"kind\":\"pool\",\"duration\":\"5s\"},{\"kind\":\"lock\",\"after\":\"1s\"}]}");

        assertThat(taken.connections).isEqualTo(1);
        assertThat(taken.rows).isZero();
        plan();
        plan();
        assertThat(taken.connections).isEqualTo(1);
        time.goOn(Duration.ofSeconds(1));
        assertThat(taken.rows).isEqualTo(1);
        time.goOn(Duration.ofSeconds(4));
        assertThat(taken.connections).isZero();
        board.heal();
        assertThat(taken.rows).isZero();
    }

    @Test
    void takesFromTheDatabaseWithTheFirstRequestOnItsPath() {
        post("{\"kind\":\"pool\",\"path\":\"/records\"}");

        board.plan(PathContainer.parsePath("/delay"));
        assertThat(taken.connections).isZero();
        plan();
        plan();
        assertThat(taken.connections).isEqualTo(1);
    }

    @Test
    void countsWhatIsOn() {
        post("{\"script\":[{\"kind\":\"hang\"},{\"kind\":\"hang\"},{\"kind\":\"reset\",\"after\":\"1s\"}]}");

        assertThat(board.countOn(FaultKind.HANG)).isEqualTo(2);
        assertThat(board.countOn(FaultKind.RESET)).isZero();
        time.goOn(Duration.ofSeconds(1));
        assertThat(board.countOn(FaultKind.RESET)).isEqualTo(1);
    }

    @Test
    void truncatedBodyAlwaysMissesItsLastByte() {
        assertThat(new Ending.Truncated(0.5).of(100)).isEqualTo(50);
        assertThat(new Ending.Truncated(0.999).of(10)).isEqualTo(9);
        assertThat(new Ending.Truncated(0).of(10)).isZero();
        assertThat(new Ending.Truncated(0.5).of(0)).isZero();
    }

    private List<Ending> endings(int requests) {
        return IntStream.range(0, requests).mapToObj(_ -> plan().ending()).toList();
    }

    private static double share(List<Ending> endings, int status) {
        return (double) endings.stream()
                        .filter(new Ending.Status(status)::equals)
                        .count()
                / endings.size();
    }
}
