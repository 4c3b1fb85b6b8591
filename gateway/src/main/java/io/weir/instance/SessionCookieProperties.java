package io.weir.instance;

import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;

/**
 * {@code weir.backends.<name>.load-balancing.session-cookie}: a cookie that the gateway sets. Its value
 * names no instance. A caller whose instance is open, drained or full goes to another one, and gets a cookie
 * for it.
 *
 * @param name the cookie's name; 1 to 64 letters, digits, {@code -}, {@code _} and {@code .}; required.
 * @param maxAge time after which the caller forgets the cookie; 1s to 400d; default: when the browser closes.
 */
public record SessionCookieProperties(
        @NotNull @Pattern(regexp = NAME, message = EXPECTED) String name,

        @Nullable @DurationMin(seconds = 1) @DurationMax(days = 400)
        Duration maxAge) {

    private static final String NAME = "[A-Za-z0-9._-]{1,64}";
    private static final String EXPECTED = "a name such as SESSION, of letters, digits, -, _ and .";
}
