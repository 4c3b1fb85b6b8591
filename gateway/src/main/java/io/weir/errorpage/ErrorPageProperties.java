package io.weir.errorpage;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.Size;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * {@code weir.errors.pages[]}: a page of HTML.
 *
 * @param statuses the statuses of the gateway's answers that have this page; each 400 to 599, and in no other
 *     page; default: all that no other page lists.
 * @param body the page, in UTF-8; 1 to 65536 characters. <code>{{status}}</code>, <code>{{title}}</code>,
 *     <code>{{reason}}</code> and <code>{{request-id}}</code> are replaced. Required.
 */
public record ErrorPageProperties(
        @Nullable @Size(min = 1) Set<@Min(400) @Max(599) Integer> statuses,

        @NotEmpty @Size(max = 65_536) String body) {

    /** Copies the set. */
    public ErrorPageProperties {
        statuses = statuses == null ? null : Set.copyOf(statuses);
    }
}
