package io.weir.config.check;

import io.weir.config.check.RawTree.Setting;
import io.weir.config.check.ValidValues.Entry;
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
    private final ValidValues validValues;
    private final Consumer<ConfigurationProblem> problems;

    NetworksCheck(RawTree root, ValidValues validValues, Consumer<ConfigurationProblem> problems) {
        this.root = root;
        this.validValues = validValues;
        this.problems = problems;
    }

    /** Checks all lists of networks. */
    void check() {
        checkList(TRUSTED_PROXIES);
        RawTree.find(RawTree.at(root, "weir.routes").stream()
                        .flatMap(RawTree::children)
                        .toList(), "access")
                .forEach(this::checkAccess);
        for (String id : validValues.names("weir.routes").keySet()) {
            checkList("weir.routes." + id + ".access.allow");
            checkAllowed("weir.routes." + id + ".access.allow");
            checkList("weir.routes." + id + ".access.deny");
        }
    }

    /** A group whose properties are all commented out would be ignored, and the route open to everybody. */
    private void checkAccess(RawTree group) {
        if (group.children().findAny().isEmpty()) {
            problems.accept(group.expected("allow or deny, or no group, which allows all addresses"));
        }
    }

    /** An empty list permits all addresses, like a missing one, but reads as if it permitted none. */
    private void checkAllowed(String path) {
        validValues
                .explicit(path)
                .filter(entry -> entry.value() instanceof List<?> networks && networks.isEmpty())
                .ifPresent(entry -> problems.accept(entry.expected("at least one network, or no list, which allows all addresses")));
    }

    private void checkList(String path) {
        validValues.explicit(path).ifPresent(entry -> {
            if (entry.value() instanceof List<?> networks) {
                networks.forEach(network -> checkNetwork(entry, path, String.valueOf(network)));
            }
        });
    }

    private void checkNetwork(Entry list, String path, String network) {
        try {
            Networks.of(path, List.of(network));
        } catch (IllegalArgumentException e) {
            Setting setting = RawTree.at(root, path).stream()
                    .flatMap(RawTree::allSettings)
                    .filter(one -> one.text().equals(network))
                    .findFirst()
                    .orElse(null);
            String message = String.valueOf(e.getMessage());
            Matcher sentence = SENTENCE.matcher(message);
            problems.accept(ConfigurationProblem.of(
                    setting == null ? list.location() : setting.location(),
                    setting == null ? list.path() : setting.path(),
                    network,
                    sentence.matches() ? String.valueOf(sentence.group(2)) : message));
        }
    }
}
