package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.door.WeightedGroups.Draw;
import io.weir.door.WeightedGroups.Member;
import io.weir.instance.HashKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The routes that are chosen within groups of the predicate Weight. */
class WeightedGroupsTest {

    private static final int REQUESTS = 10_000;

    private static Draw draw(long seed, String... fields) {
        HttpHeaders head = new DefaultHttpHeaders();
        for (int i = 0; i < fields.length; i += 2) {
            head.add(fields[i], fields[i + 1]);
        }
        return new Draw(seed, head, () -> "192.0.2.1");
    }

    private static Map<String, String> chosen(WeightedGroups groups, Draw draw) {
        Map<String, String> chosen = new HashMap<>();
        groups.addChosen(draw, chosen);
        return chosen;
    }

    private static WeightedGroups canary(int stable, int canary) {
        return new WeightedGroups(
                List.of(new Member("orders", "stable", stable), new Member("orders", "canary", canary)),
                id -> HashKey.of("cookie:SID"));
    }

    @Test
    void dividesByWeight() {
        WeightedGroups groups = new WeightedGroups(
                List.of(new Member("a", "one", 9), new Member("b", "three", 1), new Member("a", "two", 1)), id -> null);
        int[] counts = new int[2];
        for (int i = 0; i < REQUESTS; i++) {
            Draw draw = draw(i);
            counts[0] += groups.choose("one", List.of("a"), draw) ? 1 : 0;
            counts[1] += groups.choose("two", List.of("a"), draw) ? 1 : 0;
            assertThat(groups.choose("three", List.of("b"), draw)).isTrue();
            assertThat(groups.choose("three", List.of("a", "b"), draw)).isFalse();
            assertThat(groups.choose("none", List.of(), draw)).isTrue();
        }
        assertThat(counts[0] + counts[1]).as("exactly one of the group").isEqualTo(REQUESTS);
        assertThat(counts[1]).isBetween(880, 1_120);
    }

    @Test
    void choosesTheSameForBothDoors() {
        WeightedGroups groups = canary(1, 1);
        for (int i = 0; i < 100; i++) {
            Draw draw = draw(i);
            boolean isStable = groups.choose("stable", List.of("orders"), draw);
            assertThat(chosen(groups, draw)).containsExactly(Map.entry("orders", isStable ? "stable" : "canary"));
        }
    }

    @Test
    void choosesNoRouteWithoutWeight() {
        WeightedGroups none = canary(0, 0);
        WeightedGroups one = canary(0, 3);
        for (int i = 0; i < 100; i++) {
            assertThat(chosen(none, draw(i))).isEmpty();
            assertThat(chosen(one, draw(i))).containsExactly(Map.entry("orders", "canary"));
        }
    }

    @Test
    void keepsAStickyCallerOnItsRouteWhateverTheSeed() {
        WeightedGroups groups = canary(9, 1);
        int onCanary = 0;
        for (int user = 0; user < REQUESTS; user++) {
            Map<String, String> first = chosen(groups, draw(1, "Cookie", "SID=" + user));
            assertThat(chosen(groups, draw(2, "Cookie", "SID=" + user))).isEqualTo(first);
            onCanary += first.containsValue("canary") ? 1 : 0;
        }
        assertThat(onCanary).isBetween(880, 1_120);
    }

    @Test
    void movesOnlyTheDifferenceWhenWeightsChange() {
        WeightedGroups before = canary(9, 1);
        WeightedGroups after = canary(8, 2);
        int moved = 0;
        for (int user = 0; user < REQUESTS; user++) {
            Draw draw = draw(user, "Cookie", "SID=" + user);
            boolean wasCanary = before.choose("canary", List.of("orders"), draw);
            boolean isCanary = after.choose("canary", List.of("orders"), draw);
            assertThat(isCanary || !wasCanary).as("a canary stays one").isTrue();
            moved += isCanary == wasCanary ? 0 : 1;
        }
        assertThat(moved).isBetween(880, 1_120);
    }

    @Test
    void dividesCallersWithoutTheKeyByChance() {
        int onCanary = 0;
        WeightedGroups groups = canary(9, 1);
        for (int i = 0; i < REQUESTS; i++) {
            onCanary += groups.choose("canary", List.of("orders"), draw(i)) ? 1 : 0;
        }
        assertThat(onCanary).isBetween(880, 1_120);
    }
}
