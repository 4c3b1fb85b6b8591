package io.weir.errorpage;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The pages of a configuration, by the status of the gateway's answer. */
public final class ErrorPages {

    /** No pages. */
    public static final ErrorPages NONE = new ErrorPages(ErrorsProperties.NONE);

    private static final int FIRST_STATUS = 400;
    private static final int LAST_STATUS = 599;

    /** From the first status on. */
    private final List<@Nullable ErrorPage> pages;

    /** The pages of these properties. */
    public ErrorPages(ErrorsProperties properties) {
        List<ErrorPageProperties> configured =
                Objects.requireNonNullElse(properties.pages(), List.<ErrorPageProperties>of());
        ErrorPage others = configured.stream()
                .filter(page -> page.statuses() == null)
                .findFirst()
                .map(page -> new ErrorPage(page.body()))
                .orElse(null);
        pages = new ArrayList<>(Collections.nCopies(LAST_STATUS - FIRST_STATUS + 1, others));
        for (ErrorPageProperties page : configured) {
            ErrorPage parsed = new ErrorPage(page.body());
            Objects.requireNonNullElse(page.statuses(), Set.<Integer>of())
                    .forEach(status -> pages.set(status - FIRST_STATUS, parsed));
        }
    }

    /** The page of a status; null: it has none. */
    public @Nullable ErrorPage of(int status) {
        return status < FIRST_STATUS || status > LAST_STATUS ? null : pages.get(status - FIRST_STATUS);
    }
}
