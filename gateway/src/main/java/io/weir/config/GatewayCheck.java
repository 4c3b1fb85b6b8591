package io.weir.config;

import io.weir.config.Written.Setting;
import io.weir.edge.TrustedProxies;
import java.util.List;
import java.util.function.Consumer;

/** Checks what cannot be said of the gateway as a whole by constraints. */
final class GatewayCheck {

    private static final String TRUSTED_PROXIES = "weir.edge.trusted-proxies";

    private final Written root;
    private final Known known;
    private final Consumer<Problem> problems;

    GatewayCheck(Written root, Known known, Consumer<Problem> problems) {
        this.root = root;
        this.known = known;
        this.problems = problems;
    }

    void check() {
        known.written(TRUSTED_PROXIES).ifPresent(entry -> {
            if (entry.value() instanceof List<?> networks) {
                networks.forEach(network -> trusted(entry, String.valueOf(network)));
            }
        });
    }

    private void trusted(Known.Entry list, String network) {
        try {
            TrustedProxies.of(List.of(network));
        } catch (IllegalArgumentException e) {
            Setting setting = Written.at(root, TRUSTED_PROXIES).stream()
                    .flatMap(Written::all)
                    .filter(one -> one.text().equals(network))
                    .findFirst()
                    .orElse(null);
            String message = String.valueOf(e.getMessage());
            problems.accept(Problem.of(
                    setting == null ? list.place() : setting.place(),
                    setting == null ? list.path() : setting.path(),
                    network,
                    message.substring(message.lastIndexOf("(expected: ") + 1, message.length() - 1)));
        }
    }
}
