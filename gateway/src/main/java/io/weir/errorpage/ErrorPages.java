package io.weir.errorpage;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The pages of a configuration, by the status of the gateway's answer. */
public final class ErrorPages {

    /** No pages. */
    public static final ErrorPages NONE = new ErrorPages(ErrorsProperties.NONE);

    private final Map<Integer, ErrorPage> byStatus = new HashMap<>();
    private @Nullable ErrorPage others;

    /** The pages of these properties. */
    public ErrorPages(ErrorsProperties properties) {
        for (ErrorPageProperties page :
                Objects.requireNonNullElse(properties.pages(), List.<ErrorPageProperties>of())) {
            ErrorPage parsed = new ErrorPage(page.body());
            Set<Integer> statuses = page.statuses();
            if (statuses == null) {
                others = parsed;
            } else {
                statuses.forEach(status -> byStatus.put(status, parsed));
            }
        }
    }

    /** The page of a status; null: it has none. */
    public @Nullable ErrorPage of(int status) {
        return byStatus.getOrDefault(status, others);
    }
}
