package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The place of a health among others; {@link HealthGroupTest} has the groups' rules. */
class GroupMembershipTest {

    @Test
    void hasNeitherPeersNorMembersAtFirst() {
        GroupMembership membership = new GroupMembership();

        assertThat(membership.peers()).isNull();
        assertThat(membership.members()).isNull();
        assertThat(membership.share()).isEqualTo(1);
        assertThat(membership.cap()).isEqualTo(Integer.MAX_VALUE);
        assertThat(membership.isFull(1)).isFalse();
    }

    @Test
    void tellsWhetherTheOnlyInstanceHasAnotherCap() {
        GroupMembership membership = new GroupMembership();

        assertThat(membership.capOnly(7)).isTrue();
        assertThat(membership.capOnly(7)).isFalse();
        assertThat(membership.cap()).isEqualTo(7);
    }

    @Test
    void takesTheCapOfItsPeers() {
        HealthGroupFixture orders = new HealthGroupFixture(HealthGroupFixture.settings(20, 5, 100), 9, 0.5, 0.5);
        GroupMembership membership = new GroupMembership();
        membership.join(orders.group, 0.5);

        assertThat(membership.cap()).isEqualTo(9);
        assertThat(membership.share()).isEqualTo(0.5);

        membership.leavePeers();
        assertThat(membership.cap()).isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void returnsTheMembersThatItReplaces() {
        HealthGroupFixture orders = HealthGroupFixture.of(2);
        GroupMembership membership = new GroupMembership();

        assertThat(membership.lead(orders.group)).isNull();
        assertThat(membership.lead(null)).isSameAs(orders.group);
    }

    @Test
    void keepsTheStateOfItsMembersInTheirGroup() {
        HealthGroupFixture orders = HealthGroupFixture.of(2);
        orders.members.forEach(one -> one.operator().openNow());
        assertThat(List.of(orders.backend.state())).containsExactly(State.OPEN);
    }
}
