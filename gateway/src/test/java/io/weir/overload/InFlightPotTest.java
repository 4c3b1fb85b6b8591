package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.Priority;
import io.weir.overload.InFlightShare.Claim;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InFlightPotTest {

    private static final int THREADS = 4;
    private static final int ROUNDS = 20_000;

    @ParameterizedTest(name = "{0} places, shares {1}")
    @CsvSource(delimiter = '|', textBlock = """
            # A backend without a share has an equal part of a tenth of what the shares leave.
            20000 | - -             | 1000 1000
            20000 | 50 - -          | 10000 500 500
            20000 | 0 - -           | 0 1000 1000
            20000 | 60 40           | 12000 8000
            20000 | 100 0           | 20000 0
            # A single backend has nobody to be protected from.
            20000 | -               | 0
            20000 | 30              | 6000
            # Four places at least, unless all of them were more than a quarter of the pot.
            100   | - - - -         | 4 4 4 4
            20    | - - -           | 1 1 1
            5     | - - -           | 0 0 0
            1     | - -             | 0 0
            # Rounded down: the rest is shared.
            10    | 33 33 34        | 3 3 3
            """)
    void dividesThePot(int places, String shares, String parts) {
        List<Claim> claims = Arrays.stream(shares.split(" "))
                .map(share -> new Claim(new InFlightShare(), share.equals("-") ? null : Integer.valueOf(share)))
                .toList();

        assertThat(InFlightPot.parts(places, claims))
                .containsExactly(Arrays.stream(parts.split(" "))
                        .mapToInt(Integer::parseInt)
                        .toArray());
    }

    @Test
    void oneBusyBackendMayUseAllButTheGuaranteedPlacesOfTwoHundredIdleOnes() {
        InFlightPot pot = new InFlightPot(20_000);
        List<InFlightShare> shares = divide(pot, 200);

        // Nine tenths, and its own part of the tenth.
        assertThat(fill(pot, shares.getFirst(), Priority.CRITICAL)).isEqualTo(18_010);
        assertThat(shares).allSatisfy(share -> assertThat(share.guaranteed()).isEqualTo(10));
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({"SHEDDABLE, 720, 100", "NORMAL, 855, 100", "CRITICAL, 900, 100"})
    void backendsThatFillThePotLeaveTheOthersTheirGuaranteedPlaces(Priority hogs, int mostShared, int mostGuaranteed) {
        InFlightPot pot = new InFlightPot(1_000);
        List<InFlightShare> shares = divide(pot, 10);
        List<InFlightShare> hanging = shares.subList(0, 9);

        assertThat(hanging.stream().mapToInt(share -> fill(pot, share, hogs)).sum())
                .isEqualTo(mostShared + 9 * 10);
        assertThat(pot.borrowed()).isEqualTo(mostShared);
        // The healthy backend has its places at once, whatever the class of its exchanges is.
        for (int i = 0; i < 10; i++) {
            assertThat(pot.take(shares.getLast(), Priority.SHEDDABLE)).isTrue();
        }
        assertThat(shares.stream().mapToInt(InFlightShare::guaranteed).sum()).isEqualTo(mostGuaranteed);
        assertThat(fill(pot, shares.getLast(), hogs)).isZero();
    }

    @Test
    void withoutGuaranteedSharesBackendsThatFillThePotLeaveNothing() {
        InFlightPot pot = new InFlightPot(1_000);
        InFlightShare hanging = new InFlightShare();
        InFlightShare healthy = new InFlightShare();
        pot.divide(List.of(new Claim(hanging, 0), new Claim(healthy, 0)));

        assertThat(fill(pot, hanging, Priority.CRITICAL)).isEqualTo(1_000);
        assertThat(pot.take(healthy, Priority.CRITICAL)).isFalse();
    }

    @Test
    void aBackendThatHasFewerExchangesGivesBackItsBorrowedPlacesFirst() {
        InFlightPot pot = new InFlightPot(20);
        List<InFlightShare> shares = divide(pot, 2);
        InFlightShare busy = shares.getFirst();
        InFlightShare other = shares.getLast();
        assertThat(fill(pot, busy, Priority.CRITICAL)).isEqualTo(18);

        pot.giveBack(busy);

        assertThat(pot.borrowed()).isEqualTo(15);
        assertThat(fill(pot, other, Priority.CRITICAL)).isEqualTo(3);
        giveBackAll(pot, busy);
        assertThat(pot.borrowed()).isEqualTo(1);
        giveBackAll(pot, other);
        assertThat(pot.borrowed()).isZero();
    }

    @Test
    void anAddedBackendHasItsPlacesAtOnceAndTheOthersBorrowFewer() {
        InFlightPot pot = new InFlightPot(100);
        InFlightShare busy = new InFlightShare();
        pot.divide(List.of(new Claim(busy, null)));
        assertThat(fill(pot, busy, Priority.CRITICAL)).isEqualTo(100);
        InFlightShare added = new InFlightShare();

        pot.divide(List.of(new Claim(busy, null), new Claim(added, null)));

        assertThat(fill(pot, added, Priority.CRITICAL)).isEqualTo(5);
        for (int i = 0; i < 5; i++) {
            pot.giveBack(busy);
            assertThat(pot.take(busy, Priority.CRITICAL)).isFalse();
        }
        pot.giveBack(busy);
        assertThat(pot.take(busy, Priority.CRITICAL)).isTrue();
        assertThat(busy.inFlight() + added.inFlight()).isEqualTo(100);
    }

    @Test
    void theExchangesOfARemovedBackendBorrowUntilTheyEnd() {
        InFlightPot pot = new InFlightPot(100);
        List<InFlightShare> shares = divide(pot, 2);
        InFlightShare kept = shares.getFirst();
        InFlightShare removed = shares.getLast();
        assertThat(fill(pot, removed, Priority.CRITICAL)).isEqualTo(95);

        pot.divide(List.of(new Claim(kept, null)));

        assertThat(removed.guaranteed()).isZero();
        assertThat(pot.borrowed()).isEqualTo(95);
        assertThat(fill(pot, kept, Priority.CRITICAL)).isEqualTo(5);
        giveBackAll(pot, removed);
        assertThat(fill(pot, kept, Priority.CRITICAL)).isEqualTo(95);
    }

    @Test
    void neverAdmitsMoreThanItHasPlacesNorRefusesAGuaranteedOne() throws Exception {
        InFlightPot pot = new InFlightPot(40);
        InFlightShare one = new InFlightShare();
        InFlightShare other = new InFlightShare();
        InFlightShare healthy = new InFlightShare();
        pot.divide(List.of(new Claim(one, 10), new Claim(other, 10), new Claim(healthy, 10)));
        AtomicInteger held = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            InFlightShare hog = i % 2 == 0 ? one : other;
            tasks.add(() -> {
                int mine = 0;
                for (int round = 0; round < ROUNDS; round++) {
                    if (mine < 30 && pot.take(hog, Priority.CRITICAL)) {
                        mine++;
                        most.accumulateAndGet(held.incrementAndGet(), Math::max);
                    } else {
                        mine = giveBackSome(pot, hog, mine, held);
                    }
                }
                giveBackSome(pot, hog, mine, held, mine);
                return null;
            });
            tasks.add(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    if (pot.take(healthy, Priority.SHEDDABLE)) {
                        most.accumulateAndGet(held.incrementAndGet(), Math::max);
                        giveBackSome(pot, healthy, 1, held, 1);
                    } else {
                        refused.incrementAndGet();
                    }
                }
                return null;
            });
        }

        runAll(tasks);

        assertThat(refused).as("refused, of the healthy backend").hasValue(0);
        assertThat(most.get()).isBetween(29, 40);
        assertNothingHeld(pot, List.of(one, other, healthy));
    }

    @Test
    void countsExactlyWhileItIsDividedAgain() throws Exception {
        InFlightPot pot = new InFlightPot(40);
        List<InFlightShare> shares = divide(pot, 3);
        AtomicBoolean isOver = new AtomicBoolean();
        List<Callable<Void>> tasks = new ArrayList<>();
        for (InFlightShare share : shares) {
            tasks.add(() -> {
                int mine = 0;
                for (int round = 0; round < ROUNDS; round++) {
                    if (ThreadLocalRandom.current().nextBoolean() && pot.take(share, Priority.NORMAL)) {
                        mine++;
                    } else if (mine > 0) {
                        pot.giveBack(share);
                        mine--;
                    }
                }
                for (; mine > 0; mine--) {
                    pot.giveBack(share);
                }
                return null;
            });
        }
        Thread divider = Thread.ofPlatform().start(() -> {
            while (!isOver.get()) {
                int percent = ThreadLocalRandom.current().nextInt(30);
                pot.divide(shares.stream()
                        .limit(2 + ThreadLocalRandom.current().nextInt(2))
                        .map(share -> new Claim(share, percent))
                        .toList());
            }
        });

        runAll(tasks);
        isOver.set(true);
        divider.join();

        assertNothingHeld(pot, shares);
        assertThat(fill(pot, shares.getFirst(), Priority.CRITICAL))
                .isEqualTo(40
                        - shares.stream()
                                .skip(1)
                                .mapToInt(InFlightShare::guaranteed)
                                .sum());
    }

    private static int giveBackSome(InFlightPot pot, InFlightShare share, int mine, AtomicInteger held) {
        return giveBackSome(pot, share, mine, held, ThreadLocalRandom.current().nextInt(mine + 1));
    }

    private static int giveBackSome(InFlightPot pot, InFlightShare share, int mine, AtomicInteger held, int count) {
        for (int i = 0; i < count; i++) {
            held.decrementAndGet();
            pot.giveBack(share);
        }
        return mine - count;
    }

    private static void runAll(List<Callable<Void>> tasks) throws Exception {
        try (ExecutorService threads =
                Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
            for (Future<Void> task : threads.invokeAll(tasks)) {
                task.get();
            }
        }
    }

    private static void assertNothingHeld(InFlightPot pot, List<InFlightShare> shares) {
        assertThat(shares).allSatisfy(share -> assertThat(share.inFlight()).isZero());
        assertThat(pot.borrowed()).isZero();
    }

    /** Divides a pot among so many backends without shares of their own. */
    private static List<InFlightShare> divide(InFlightPot pot, int backends) {
        List<InFlightShare> shares =
                IntStream.range(0, backends).mapToObj(_ -> new InFlightShare()).toList();
        pot.divide(shares.stream().map(share -> new Claim(share, null)).toList());
        return shares;
    }

    /** Takes places until one is refused; returns their number. */
    private static int fill(InFlightPot pot, InFlightShare share, Priority priority) {
        int taken = 0;
        while (pot.take(share, priority)) {
            taken++;
        }
        return taken;
    }

    private static void giveBackAll(InFlightPot pot, InFlightShare share) {
        while (share.inFlight() > 0) {
            pot.giveBack(share);
        }
    }
}
