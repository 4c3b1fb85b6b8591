package io.weir.config.check;

import io.weir.config.check.ValidValues.Entry;
import io.weir.engine.Mode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Checks what changes answers: CORS and last good answers of routes, and error pages. */
final class RouteAnswersCheck {

    private static final String ALL = "*";
    private static final String GLOBAL_CORS = "spring.cloud.gateway.server.webflux.globalcors";

    private final RawTree root;
    private final ValidValues validValues;
    private final Consumer<ConfigurationProblem> problems;

    RouteAnswersCheck(RawTree root, ValidValues validValues, Consumer<ConfigurationProblem> problems) {
        this.root = root;
        this.validValues = validValues;
        this.problems = problems;
    }

    /** Checks all routes, and the error pages. */
    void check() {
        checkErrorPages();
        RawTree.at(root, "weir.routes").stream().flatMap(RawTree::children).forEach(route -> {
            String path = "weir.routes." + route.name();
            RawTree.find(List.of(route), "cors").stream()
                    .findFirst()
                    .ifPresent(cors -> checkCors(path + ".cors", cors));
            RawTree.find(List.of(route), "last-good").stream()
                    .findFirst()
                    .ifPresent(lastGood -> checkLastGood(path, lastGood));
        });
    }

    /** Each status has one page, and one page has all that no other lists. */
    private void checkErrorPages() {
        Map<String, String> pages = new HashMap<>();
        validValues.names("weir.errors.pages").forEach((index, location) -> {
            String page = "weir.errors.pages[" + index + "]";
            List<String> statuses = list(page + ".statuses");
            if (statuses.isEmpty() && validValues.explicit(page + ".statuses").isPresent()) {
                // Invalid, and reported elsewhere.
                return;
            }
            for (String status : statuses.isEmpty() ? List.of("") : statuses) {
                String other = pages.putIfAbsent(status, page);
                if (other != null) {
                    problems.accept(ConfigurationProblem.expected(
                            location,
                            page + ".statuses",
                            status.isEmpty() ? null : status,
                            "a status without a page, but " + other + " has "
                                    + (status.isEmpty() ? "none, which means all others" : "it")));
                }
            }
        });
    }

    private void checkCors(String path, RawTree cors) {
        String origins = path + ".allowed-origins";
        if (isMissing(cors, "allowed-origins") && isMissing(cors, "allowed-origin-patterns")) {
            problems.accept(cors.expected("allowed-origins or allowed-origin-patterns"));
        }
        if (!RawTree.at(root, GLOBAL_CORS + ".cors-configurations").isEmpty()) {
            problems.accept(
                    cors.problem("not together with " + GLOBAL_CORS));
        }
        validValues
                .explicit(path + ".allow-credentials")
                .filter(entry -> Boolean.TRUE.equals(entry.value()))
                .ifPresent(entry -> {
                    if (list(origins).contains(ALL)) {
                        report(entry, "false, since allowed-origins has *; or the origins in allowed-origin-patterns");
                    }
                    if (list(path + ".exposed-headers").contains(ALL)) {
                        report(entry, "false, since exposed-headers has *, which is a name then");
                    }
                });
    }

    private void checkLastGood(String route, RawTree lastGood) {
        if (validValues.value(route + ".mode", Mode.class).orElse(Mode.REQUEST) == Mode.STREAM) {
            problems.accept(lastGood.expected("mode: request, since streams have no whole answers"));
        }
    }

    private static boolean isMissing(RawTree node, String list) {
        return RawTree.find(List.of(node), list).stream()
                .flatMap(RawTree::allSettings)
                .allMatch(setting -> setting.text().isBlank());
    }

    private List<String> list(String path) {
        return validValues.get(path).map(Entry::value).stream()
                .filter(List.class::isInstance)
                .flatMap(value -> ((List<?>) value).stream())
                .map(String::valueOf)
                .toList();
    }

    /** Reports a value without its text, which the messages would mask as a secret. */
    private void report(Entry entry, String expected) {
        problems.accept(entry.expected(null, expected));
    }
}
