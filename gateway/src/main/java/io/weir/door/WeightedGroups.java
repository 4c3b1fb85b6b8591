package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.instance.HashKey;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The groups of routes that share requests by weight: Spring Cloud Gateway's predicate Weight. For a request,
 * one route of each group is chosen; the predicate matches on that route only.
 *
 * <p>Both doors read the same {@link Draw} of a request. With a draw for each door, a request for which the
 * compiled door has not chosen a route would get a second chance in the general door, and the shares would be
 * wrong.
 *
 * <p>The choice of a sticky group follows from a hash of the request's key, so it is the same for all
 * gateways and after a restart. If the weights of two routes change, only the keys in the difference move.
 * Requests without the key are divided at random.
 *
 * <p>Immutable. Spring Cloud Gateway's own bean is not used: it keeps removed routes, and would choose them.
 */
public final class WeightedGroups {

    /**
     * A route in a group.
     *
     * @param group the name of the group
     * @param routeId the id of the route
     * @param weight its share, relative to the weights of the group; 0 or more
     */
    public record Member(String group, String routeId, int weight) {}

    /**
     * The random choices of one request.
     *
     * @param seed determines the choice in groups that are not sticky
     * @param head the request's head as received
     * @param clientNetwork the caller's address; asked only if it is a key
     */
    record Draw(long seed, HttpHeaders head, Supplier<String> clientNetwork) {

        Draw(HttpHeaders head, Supplier<String> clientNetwork) {
            this(ThreadLocalRandom.current().nextLong(), head, clientNetwork);
        }
    }

    /** One group. Immutable. */
    private static final class Group {

        private final String name;
        private final List<String> routeIds;
        /** The part of the weights up to each route; the last one is 1. */
        private final double[] ends;
        /** Makes the choices of two groups independent. */
        private final long salt;

        private final @Nullable HashKey sticky;

        Group(String name, List<String> routeIds, double[] ends, @Nullable HashKey sticky) {
            this.name = name;
            this.routeIds = routeIds;
            this.ends = ends;
            this.salt = HashKey.hash(name);
            this.sticky = sticky;
        }

        private @Nullable String chosen(Draw draw) {
            long hash = sticky == null ? HashKey.NONE : sticky.hash(draw.head, draw.clientNetwork);
            double point = HashKey.fraction(hash == HashKey.NONE ? draw.seed : hash, salt);
            for (int i = 0; i < ends.length; i++) {
                if (point < ends[i]) {
                    return routeIds.get(i);
                }
            }
            // All weights are 0.
            return null;
        }
    }

    private final Map<String, Group> groups = new LinkedHashMap<>();

    /**
     * The groups of some routes.
     *
     * @param members the routes, in their order
     * @param sticky the key of a route by its id; null: none
     */
    public WeightedGroups(List<Member> members, Function<String, @Nullable HashKey> sticky) {
        Map<String, List<Member>> byGroup = new LinkedHashMap<>();
        members.forEach(one ->
                byGroup.computeIfAbsent(one.group, group -> new ArrayList<>()).add(one));
        byGroup.forEach((name, routes) -> groups.put(name, group(name, routes, sticky)));
    }

    private static Group group(String name, List<Member> routes, Function<String, @Nullable HashKey> sticky) {
        long sum = routes.stream().mapToLong(Member::weight).sum();
        double[] ends = new double[routes.size()];
        long before = 0;
        for (int i = 0; i < ends.length; i++) {
            before += routes.get(i).weight;
            ends[i] = sum == 0 ? 0 : (double) before / sum;
        }
        HashKey key = routes.stream()
                .map(one -> sticky.apply(one.routeId))
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
        return new Group(name, routes.stream().map(Member::routeId).toList(), ends, key);
    }

    /** Whether there is no group. */
    boolean isEmpty() {
        return groups.isEmpty();
    }

    /** Whether a request's draw has chosen a route in all of its groups. */
    boolean choose(String routeId, List<String> of, Draw draw) {
        for (String name : of) {
            Group group = groups.get(name);
            if (group == null || !routeId.equals(group.chosen(draw))) {
                return false;
            }
        }
        return true;
    }

    /** Adds the chosen route of each group, by the group's name. */
    void addChosen(Draw draw, Map<String, String> chosen) {
        groups.values().forEach(group -> {
            String routeId = group.chosen(draw);
            if (routeId != null) {
                chosen.put(group.name, routeId);
            }
        });
    }
}
