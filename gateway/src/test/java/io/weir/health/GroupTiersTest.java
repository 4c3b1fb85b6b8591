package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A backend with two primaries and a backup. */
class GroupTiersTest {

    private static final long MILLIS = 1_000_000;

    private final HealthGroupFixture orders = HealthGroupFixture.of(3);
    private final GroupTiers tiers = GroupTiers.of(orders.members, 2);
    private final List<List<State>> seen = new ArrayList<>();

    @BeforeEach
    void start() {
        new HealthGroup(
                        orders.backend,
                        orders.members,
                        2,
                        new double[] {0.5, 0.5, 1},
                        HealthGroupFixture.UNLIMITED,
                        () -> seen.add(orders.states()))
                .takeOver();
        seen.clear();
    }

    private void failPrimaries() {
        for (int i = 0; i < 20; i++) {
            if (orders.member(0).isIn()) {
                orders.fail(0, 1);
            }
            if (orders.member(1).isIn()) {
                orders.fail(1, 1);
            }
        }
    }

    @Test
    void primariesThatFailAlikeOpenAtTheSameTimeAndTheBackendStaysClosed() {
        failPrimaries();
        assertThat(orders.states()).containsExactly(State.OPEN, State.OPEN, State.CLOSED);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
        assertThat(orders.opened).isZero();
        assertThat(seen).as("seen by the choice").containsOnly(List.of(State.OPEN, State.OPEN, State.CLOSED));
    }

    @Test
    void theBackendOpensIfTheBackupFailsToo() {
        failPrimaries();
        orders.succeed(2, 5);
        orders.fail(2, 15);
        assertThat(orders.backend.state())
                .as("the failures of the primaries count no longer")
                .isEqualTo(State.OPEN);
        assertThat(orders.states()).containsOnly(State.OPEN);
        assertThat(orders.opened).isEqualTo(1);
    }

    @Test
    void primariesThatHangOpenAtTheSameTime() {
        List<Generation> first = orders.enter(0, 3);
        List<Generation> second = orders.enter(1, 2);
        long sentAt = orders.now;
        orders.now += HealthGroupFixture.SECOND;
        first.forEach(call -> orders.stall(0, call, sentAt));
        second.forEach(call -> orders.stall(1, call, sentAt));
        assertThat(orders.states()).containsExactly(State.OPEN, State.OPEN, State.CLOSED);
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
        assertThat(orders.givenBack).isEqualTo(5);

        List<Generation> third = orders.enter(2, 4);
        orders.now += HealthGroupFixture.SECOND;
        third.forEach(call -> orders.stall(2, call, orders.now - HealthGroupFixture.SECOND));
        assertThat(orders.backend.state()).as("four calls of the backup").isEqualTo(State.CLOSED);
    }

    @Test
    void anOperatorOpensTheBackendWithItsBackups() {
        orders.backend.operator().openNow();
        assertThat(orders.states()).containsOnly(State.OPEN);
        assertThat(orders.backend.state()).isEqualTo(State.OPEN);
    }

    @Test
    void keepsTheBackupInReserveWhileAPrimaryIsInWithoutARamp() {
        assertThat(tiers.hasReserve()).isTrue();
        assertThat(tiers.isServing(orders.member(2))).isFalse();
        orders.member(0).operator().openNow();
        assertThat(tiers.hasReserve()).isTrue();
        orders.recover(1);
        assertThat(tiers.hasReserve()).as("the primary ramps up").isFalse();
        assertThat(tiers.isServing(orders.member(2))).isTrue();
        orders.succeed(1, 60);
        assertThat(tiers.hasReserve()).isTrue();
        orders.member(2).operator().openNow();
        assertThat(tiers.hasReserve()).as("the backup is out").isFalse();
    }

    @Test
    void theTimeOfARecoveryIsTheShortestOfTheInstancesThatGetCalls() {
        assertThat(orders.backend.role().recoveryNanos()).isZero();
        recoverAfter(0, 700);
        assertThat(orders.backend.role().recoveryNanos())
                .as("the other primary serves")
                .isZero();
        recoverAfter(1, 500);
        orders.succeed(0, 60);
        orders.succeed(1, 60);
        assertThat(orders.backend.role().recoveryNanos())
                .as("without the backup")
                .isEqualTo(500 * MILLIS);
        orders.members.forEach(member -> member.operator().openNow());
        assertThat(orders.backend.role().recoveryNanos()).as("none is in").isZero();
    }

    /** The instance opens, and a probe is answered after this time. */
    private void recoverAfter(int index, long millis) {
        Health member = orders.member(index);
        member.operator().openNow();
        orders.now += HealthGroupFixture.SECOND;
        Probe probe = Objects.requireNonNull(member.probes().tryStart(orders.now, 0, false));
        orders.now += millis * MILLIS;
        member.probes().answered(probe, orders.now);
    }

    @Test
    void anEjectedBackupChangesNothingForThePrimaries() {
        orders.member(2).operator().openNow();
        assertThat(orders.backend.state()).isEqualTo(State.CLOSED);
        failPrimaries();
        assertThat(orders.backend.state()).as("without a backup").isEqualTo(State.OPEN);
    }
}
