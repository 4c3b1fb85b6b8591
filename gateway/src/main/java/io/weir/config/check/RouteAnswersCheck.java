package io.weir.config.check;

import io.weir.compression.MediaTypes;
import io.weir.config.check.RawTree.Setting;
import io.weir.config.check.ValidValues.Entry;
import io.weir.engine.Mode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** Checks what changes answers: CORS, compression and last good answers of routes, and error pages. */
final class RouteAnswersCheck {

    private static final String ALL = "*";
    private static final String GLOBAL_CORS = "spring.cloud.gateway.server.webflux.globalcors";
    private static final String GRPC = "application/grpc";
    private static final Predicate<String> TOKEN =
            Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+").asMatchPredicate();
    private static final Predicate<String> ORIGIN =
            Pattern.compile("\\*|null|[A-Za-z][A-Za-z0-9+.-]*://[^/\\s?#@*]+").asMatchPredicate();
    private static final Predicate<String> ORIGIN_PATTERN =
            Pattern.compile("\\*|[A-Za-z*][A-Za-z0-9+.*-]*://[^/\\s?#@]+").asMatchPredicate();

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
            RawTree.find(List.of(route), "compression").stream()
                    .findFirst()
                    .ifPresent(compression -> checkCompression(path + ".compression", compression));
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
        String patterns = path + ".allowed-origin-patterns";
        if (isMissing(origins) && isMissing(patterns)) {
            problems.accept(ConfigurationProblem.expected(
                    cors.location(), cors.path(), null, "allowed-origins or allowed-origin-patterns"));
        }
        if (!RawTree.at(root, GLOBAL_CORS + ".cors-configurations").isEmpty()) {
            problems.accept(
                    ConfigurationProblem.of(cors.location(), cors.path(), null, "not together with " + GLOBAL_CORS));
        }
        checkEach(
                cors,
                origins,
                ORIGIN,
                "an origin such as https://shop.example, or *; patterns in " + "allowed-origin-patterns");
        checkEach(cors, patterns, ORIGIN_PATTERN, "a pattern of origins such as https://*.shop.example");
        checkEach(cors, path + ".allowed-methods", TOKEN, "the name of a method, or *");
        checkEach(cors, path + ".allowed-headers", TOKEN, "the name of a header field, or *");
        checkEach(cors, path + ".exposed-headers", TOKEN, "the name of a header field, or *");
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

    private void checkCompression(String path, RawTree compression) {
        String types = path + ".content-types";
        checkEach(
                compression,
                types,
                type -> MediaTypes.isValid(type) && !type.startsWith(GRPC),
                "a media type, text/* or application/*+json; never gRPC");
    }

    private void checkLastGood(String route, RawTree lastGood) {
        checkEach(lastGood, route + ".last-good.key-headers", TOKEN, "the name of a header field");
        if (validValues.value(route + ".mode", Mode.class).orElse(Mode.REQUEST) == Mode.STREAM) {
            problems.accept(ConfigurationProblem.expected(
                    lastGood.location(), lastGood.path(), null, "mode: request, since streams have no whole answers"));
        }
    }

    /** Whether a list has no elements; an invalid one is reported elsewhere. */
    private boolean isMissing(String path) {
        return validValues.explicit(path).isEmpty() || list(path).isEmpty();
    }

    private List<String> list(String path) {
        return validValues.get(path).map(Entry::value).stream()
                .filter(List.class::isInstance)
                .flatMap(value -> ((List<?>) value).stream())
                .map(String::valueOf)
                .toList();
    }

    private void checkEach(RawTree node, String path, Predicate<String> isValid, String expected) {
        validValues
                .explicit(path)
                .ifPresent(entry -> list(path).stream().filter(isValid.negate()).forEach(element -> {
                    Setting setting = node.allSettings()
                            .filter(one -> one.text().equals(element))
                            .findFirst()
                            .orElse(null);
                    problems.accept(ConfigurationProblem.expected(
                            setting == null ? entry.location() : setting.location(),
                            setting == null ? entry.path() : setting.path(),
                            element,
                            expected));
                }));
    }

    /** Reports a value without its text, which the messages would mask as a secret. */
    private void report(Entry entry, String expected) {
        problems.accept(ConfigurationProblem.expected(entry.location(), entry.path(), null, expected));
    }
}
