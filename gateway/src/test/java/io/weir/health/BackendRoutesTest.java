package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The routes of a backend, and the callers whose failures open it, in virtual time. */
class BackendRoutesTest {

    private static final int BAD_CALLER = 100;

    private final RoutesFixture orders = new RoutesFixture();
    private final Random random = new Random(1);

    @Test
    void keepsARouteAsLongAsItStays() {
        RouteHealth read = orders.route("read");
        assertThat(orders.route("read")).isSameAs(read);

        orders.routes.replace(orders.routes.plan(Set.of("read", "write")).values());
        assertThat(orders.route("read")).isSameAs(read);

        orders.routes.replace(orders.routes.plan(Set.of("write", "list")).values());
        assertThat(orders.route("read")).isNotSameAs(read);
    }

    @Test
    void tellsSixtyFourRoutesApart() {
        for (int i = 0; i < BackendRoutes.MOST; i++) {
            assertThat(orders.route("route-" + i).index()).isEqualTo(i);
        }
        RouteHealth shared = orders.route("one-more");
        assertThat(orders.route("and-another")).isSameAs(shared);
        assertThat(orders.routes.members()).hasSize(BackendRoutes.MOST + 1);
    }

    @ParameterizedTest
    @ValueSource(ints = {20, 100, 300})
    void staysClosedWhileOneCallerFailsBesideOthers(int badPerSecond) {
        for (int i = 0; i < 5_000; i++) {
            boolean isBad = random.nextInt(badPerSecond + 60) < badPerSecond;
            assertThat(orders.call(null, isBad ? BAD_CALLER : random.nextInt(30), !isBad))
                    .as("call " + i)
                    .isTrue();
        }
    }

    @Test
    void staysClosedWhileOneOfTwoCallersFails() {
        for (int i = 0; i < 1_000; i++) {
            assertThat(orders.call(null, 1, false)).isTrue();
            assertThat(orders.call(null, 2, true)).isTrue();
        }
    }

    @Test
    void staysClosedWhileTwoOfManyCallersFail() {
        for (int i = 0; i < 100; i++) {
            orders.call(null, random.nextInt(60), true);
        }
        for (int i = 0; i < 2_000; i++) {
            boolean isBad = random.nextInt(260) < 200;
            assertThat(orders.call(null, isBad ? BAD_CALLER + i % 2 : random.nextInt(60), !isBad))
                    .as("call " + i)
                    .isTrue();
        }
    }

    @Test
    void opensForTheOnlyCaller() {
        int calls = 0;
        while (orders.call(null, 1, false)) {
            calls++;
        }
        assertThat(calls).isEqualTo(20);
    }

    @ParameterizedTest
    @CsvSource({"4", "10", "40"})
    void opensIfHalfOfAllCallersFail(int callers) {
        int calls = 0;
        while (orders.state() == State.CLOSED && calls < 500) {
            orders.call(null, calls % callers, calls % callers < callers / 2);
            calls++;
        }
        assertThat(calls).isLessThanOrEqualTo(60);
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "60, 2", "90, 3"})
    void opensAsEarlyAsBeforeWhenAllCallersFail(int mainCallerPercent, int seed) {
        random.setSeed(seed);
        for (int i = 0; i < 200; i++) {
            orders.call(null, caller(mainCallerPercent), true);
        }
        int calls = 0;
        while (orders.state() == State.CLOSED && calls < 500) {
            orders.call(null, caller(mainCallerPercent), false);
            calls++;
        }
        assertThat(calls).isLessThanOrEqualTo(55);
    }

    private int caller(int mainCallerPercent) {
        return random.nextInt(100) < mainCallerPercent ? BAD_CALLER : random.nextInt(30);
    }
}
