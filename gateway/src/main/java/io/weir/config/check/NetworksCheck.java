package io.weir.config.check;

import io.weir.access.AccessProperties;
import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.Section.Component;
import io.weir.config.check.ValidValues.Entry;
import io.weir.edge.EdgeProperties;
import io.weir.edge.Networks;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds malformed networks in lists of them. */
final class NetworksCheck {

    static final String TRUSTED_PROXIES = "weir.edge.trusted-proxies";

    /** A message of {@link Networks}. */
    private static final Pattern SENTENCE = Pattern.compile("[^:]+: (.*) \\((expected: .*)\\)");

    private final RawTree root;
    private final Section<WeirProperties> weir;
    private final Consumer<ConfigurationProblem> problems;

    NetworksCheck(RawTree root, Section<WeirProperties> weir, Consumer<ConfigurationProblem> problems) {
        this.root = root;
        this.weir = weir;
        this.problems = problems;
    }

    /** Checks all lists of networks. */
    void check() {
        checkList(weir.in(WeirProperties::edge), EdgeProperties::trustedProxies);
        RawTree.find(
                        RawTree.at(root, "weir.routes").stream()
                                .flatMap(RawTree::children)
                                .toList(),
                        "access")
                .forEach(this::checkAccess);
        weir.each(WeirProperties::routes).forEach(route -> {
            Section<AccessProperties> access = route.getValue().in(RouteProperties::access);
            checkList(access, AccessProperties::allow);
            checkList(access, AccessProperties::deny);
            // Permits all addresses, like a missing list, but reads as if it permitted none.
            access.explicit(AccessProperties::allow)
                    .filter(entry -> entry.value().equals(List.of()))
                    .ifPresent(entry -> problems.accept(
                            entry.expected("at least one network, or no list, which allows all addresses")));
        });
    }

    /** Whether any proxy is trusted. */
    static boolean hasTrustedProxies(Section<WeirProperties> weir) {
        return !weir.in(WeirProperties::edge)
                .list(EdgeProperties::trustedProxies)
                .isEmpty();
    }

    /** A group whose properties are all commented out would be ignored, and the route open to everybody. */
    private void checkAccess(RawTree group) {
        if (group.children().findAny().isEmpty()) {
            problems.accept(group.expected("allow or deny, or no group, which allows all addresses"));
        }
    }

    private <R extends Record> void checkList(Section<R> owner, Component<R, List<String>> list) {
        owner.explicit(list)
                .ifPresent(
                        entry -> owner.list(list).forEach(network -> checkNetwork(entry, owner.pathOf(list), network)));
    }

    private void checkNetwork(Entry list, String path, String network) {
        try {
            Networks.of(path, List.of(network));
        } catch (IllegalArgumentException e) {
            Place place = RawTree.at(root, path).stream()
                    .flatMap(RawTree::allSettings)
                    .filter(one -> one.text().equals(network))
                    .map(Place.class::cast)
                    .findFirst()
                    .orElse(list);
            String message = String.valueOf(e.getMessage());
            Matcher sentence = SENTENCE.matcher(message);
            problems.accept(place.problem(network, sentence.matches() ? String.valueOf(sentence.group(2)) : message));
        }
    }
}
