package io.weir.config.check;

import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.ValidValues.Entry;
import io.weir.cors.CorsProperties;
import io.weir.engine.Mode;
import io.weir.errorpage.ErrorPageProperties;
import io.weir.errorpage.ErrorsProperties;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Checks what changes answers: CORS and last good answers of routes, and error pages. */
final class RouteAnswersCheck {

    private static final String ALL = "*";
    private static final String GLOBAL_CORS = "spring.cloud.gateway.server.webflux.globalcors";

    private final RawTree root;
    private final Section<WeirProperties> weir;
    private final Consumer<ConfigurationProblem> problems;

    RouteAnswersCheck(RawTree root, Section<WeirProperties> weir, Consumer<ConfigurationProblem> problems) {
        this.root = root;
        this.weir = weir;
        this.problems = problems;
    }

    /** Checks all routes, and the error pages. */
    void check() {
        checkErrorPages();
        RawTree.at(root, "weir.routes").stream().flatMap(RawTree::children).forEach(route -> {
            Section<RouteProperties> properties = weir.in(WeirProperties::routes, route.name());
            RawTree.find(List.of(route), "cors").stream()
                    .findFirst()
                    .ifPresent(cors -> checkCors(properties.in(RouteProperties::cors), cors));
            RawTree.find(List.of(route), "last-good").stream()
                    .filter(group -> properties.value(RouteProperties::mode).orElse(Mode.REQUEST) == Mode.STREAM)
                    .findFirst()
                    .ifPresent(lastGood ->
                            problems.accept(lastGood.expected("mode: request, since streams have no whole answers")));
        });
    }

    /** Each status has one page, and one page has all that no other lists. */
    private void checkErrorPages() {
        Map<String, String> pages = new HashMap<>();
        Section<ErrorsProperties> errors = weir.in(WeirProperties::errors);
        errors.indexes(ErrorsProperties::pages).forEach((index, location) -> {
            Section<ErrorPageProperties> page = errors.at(ErrorsProperties::pages, index);
            List<String> statuses = page.list(ErrorPageProperties::statuses).stream()
                    .map(String::valueOf)
                    .toList();
            if (statuses.isEmpty()
                    && page.explicit(ErrorPageProperties::statuses).isPresent()) {
                // Invalid, and reported elsewhere.
                return;
            }
            for (String status : statuses.isEmpty() ? List.of("") : statuses) {
                String other = pages.putIfAbsent(status, page.path());
                if (other != null) {
                    problems.accept(ConfigurationProblem.expected(
                            location,
                            page.pathOf(ErrorPageProperties::statuses),
                            status.isEmpty() ? null : status,
                            "a status without a page, but " + other + " has "
                                    + (status.isEmpty() ? "none, which means all others" : "it")));
                }
            }
        });
    }

    private void checkCors(Section<CorsProperties> properties, RawTree cors) {
        if (isMissing(cors, "allowed-origins") && isMissing(cors, "allowed-origin-patterns")) {
            problems.accept(cors.expected("allowed-origins or allowed-origin-patterns"));
        }
        if (!RawTree.at(root, GLOBAL_CORS + ".cors-configurations").isEmpty()) {
            problems.accept(cors.problem("not together with " + GLOBAL_CORS));
        }
        properties
                .explicit(CorsProperties::allowCredentials)
                .filter(entry -> Boolean.TRUE.equals(entry.value()))
                .ifPresent(entry -> {
                    if (properties.list(CorsProperties::allowedOrigins).contains(ALL)) {
                        report(entry, "false, since allowed-origins has *; or the origins in allowed-origin-patterns");
                    }
                    if (properties.list(CorsProperties::exposedHeaders).contains(ALL)) {
                        report(entry, "false, since exposed-headers has *, which is a name then");
                    }
                });
    }

    private static boolean isMissing(RawTree node, String list) {
        return RawTree.find(List.of(node), list).stream()
                .flatMap(RawTree::allSettings)
                .allMatch(setting -> setting.text().isBlank());
    }

    /** Reports a value without its text, which the messages would mask as a secret. */
    private void report(Entry entry, String expected) {
        problems.accept(entry.expected(null, expected));
    }
}
