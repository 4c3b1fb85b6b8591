package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The bound on calls that follows from the instances which are in. */
class GroupStandingTest {

    private final HealthGroupFixture orders = HealthGroupFixture.of(2);
    private final double[] shares = {0.5, 0.5};

    private GroupStanding standing() {
        return GroupStanding.of(orders.members, shares);
    }

    @Test
    void setsNoLimitWhileAllAreIn() {
        assertThat(standing().in()).isEqualTo(2);
        assertThat(standing().maxCalls(60, Integer.MAX_VALUE)).isEqualTo(Integer.MAX_VALUE);
        assertThat(standing().limitShare()).isEqualTo(1);
    }

    @Test
    void leavesTheShareOfThoseThatAreIn() {
        GroupStanding before = standing();
        orders.member(0).operator().openNow();

        assertThat(standing().in()).isEqualTo(1);
        assertThat(standing().maxCalls(60, Integer.MAX_VALUE)).isEqualTo(30);
        assertThat(standing().limitShare()).isEqualTo(0.5);
        assertThat(standing().isSameAs(before)).isFalse();
        assertThat(standing().isSameAs(standing())).isTrue();
    }

    @Test
    void addsTheRampOfAnInstanceThatReturns() {
        orders.member(0).operator().openNow();
        orders.member(0).operator().halfOpenNow();

        assertThat(standing().maxCalls(60, Integer.MAX_VALUE)).isEqualTo(35);
        assertThat(standing().limitShare()).isZero();
        assertThat(standing().room(4)).isEqualTo(8);
    }

    @Test
    void allowsOneCallWhenNoneIsIn() {
        orders.members.forEach(one -> one.operator().openNow());
        assertThat(List.of(standing().maxCalls(60, 10), standing().room(10))).containsExactly(1, 1);
    }

    // ---------------------------------------------------------------- backups

    private final HealthGroupFixture tiers = HealthGroupFixture.of(3);

    /** Two primaries, and a backup of half their weight. */
    private GroupStanding ofTiers() {
        return GroupStanding.of(tiers.members, new double[] {0.5, 0.5, 0.5}, 2);
    }

    private void open(int... indexes) {
        for (int index : indexes) {
            tiers.member(index).operator().openNow();
        }
    }

    @Test
    void countsNoBackupInReserve() {
        assertThat(ofTiers().in()).isEqualTo(3);
        assertThat(ofTiers().room(4)).isEqualTo(8);
        assertThat(ofTiers().limitShare()).isEqualTo(1);
        assertThat(ofTiers().maxCalls(60, Integer.MAX_VALUE)).isEqualTo(Integer.MAX_VALUE);
        open(0);
        assertThat(ofTiers().maxCalls(60, Integer.MAX_VALUE)).isEqualTo(30);
        assertThat(ofTiers().room(4)).isEqualTo(4);
        tiers.member(0).operator().halfOpenNow();
        assertThat(ofTiers().maxCalls(60, Integer.MAX_VALUE)).as("one ramps").isEqualTo(35);
    }

    @Test
    void anEjectedBackupInReserveChangesNoLimit() {
        open(2);
        assertThat(ofTiers().in()).isEqualTo(2);
        assertThat(ofTiers().maxCalls(60, Integer.MAX_VALUE)).isEqualTo(Integer.MAX_VALUE);
        assertThat(ofTiers().limitShare()).isEqualTo(1);
    }

    @Test
    void leavesTheShareOfTheBackupsWhileNoPrimaryIsIn() {
        open(0, 1);
        assertThat(ofTiers().in()).isEqualTo(1);
        assertThat(ofTiers().maxCalls(60, Integer.MAX_VALUE)).isEqualTo(30);
        assertThat(ofTiers().limitShare()).isEqualTo(0.5);
    }

    @Test
    void addsTheRampsOfThePrimariesToTheShareOfTheBackups() {
        open(0, 1);
        tiers.member(0).operator().halfOpenNow();
        assertThat(ofTiers().maxCalls(60, Integer.MAX_VALUE)).isEqualTo(35);
        assertThat(ofTiers().room(4)).isEqualTo(8);
        assertThat(ofTiers().limitShare()).isZero();
    }

    @Test
    void setsNoLimitWhileBackupsOfTheWholeWeightServe() {
        open(0, 1);
        GroupStanding whole = GroupStanding.of(tiers.members, new double[] {0.5, 0.5, 1}, 2);
        assertThat(whole.maxCalls(60, Integer.MAX_VALUE)).isEqualTo(Integer.MAX_VALUE);
        assertThat(whole.limitShare()).isEqualTo(1);
    }
}
