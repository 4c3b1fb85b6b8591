package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The comparison of instances; {@link HealthGroupTest} and {@link HealthGroupRatesTest} have its effects. */
class InstanceComparisonTest {

    private final HealthGroupFixture orders = HealthGroupFixture.of(2);
    private final InstanceComparison comparison =
            new InstanceComparison(orders.members, GroupTiers.of(orders.members, 2));

    private void record(int index, int good, int bad) {
        for (int i = 0; i < good; i++) {
            orders.member(index).recent().succeeded(orders.now, orders.now);
        }
        for (int i = 0; i < bad; i++) {
            orders.member(index).recent().failed(0, orders.now);
        }
    }

    @Test
    void seesThatInstancesFailAlike() {
        record(0, 2, 8);
        record(1, 7, 3);
        assertThat(comparison.failAlike(false, 50, orders.now)).isTrue();
        assertThat(comparison.isLikeItsPeers(orders.member(0), false, 50, orders.now))
                .isTrue();
    }

    @Test
    void seesThatOneFailsAlone() {
        record(0, 2, 8);
        record(1, 10, 0);
        assertThat(comparison.failAlike(false, 50, orders.now)).isFalse();
        assertThat(comparison.isLikeItsPeers(orders.member(0), false, 50, orders.now))
                .isFalse();
        assertThat(comparison.isOverloadShared(orders.member(0), orders.now)).isFalse();
    }

    @Test
    void ejectsAnInstanceThatFailsOftenInARowWhileItsPeerSucceeds() {
        record(1, 60, 0);
        record(0, 0, 5);
        comparison.ejectIfAlone(orders.member(0), HealthGroupFixture.failure(), false, orders.now);
        assertThat(orders.member(0).isIn()).isFalse();
    }

    @Test
    void aBackupInReserveShowsNoOverload() {
        InstanceComparison tiers = new InstanceComparison(orders.members, GroupTiers.of(orders.members, 1));
        record(0, 2, 8);
        assertThat(tiers.isOverloadShared(orders.member(0), orders.now)).isTrue();
        assertThat(tiers.failAlike(false, 50, orders.now)).isTrue();
        assertThat(tiers.isLikeItsPeers(orders.member(0), false, 50, orders.now))
                .isTrue();

        record(1, 60, 0);
        tiers.ejectIfAlone(orders.member(0), HealthGroupFixture.failure(), true, orders.now);
        assertThat(orders.member(0).isIn()).as("overloaded").isTrue();
        tiers.ejectIfAlone(orders.member(0), HealthGroupFixture.failure(), false, orders.now);
        assertThat(orders.member(0).isIn())
                .as("the backup has answered such calls")
                .isFalse();
    }
}
