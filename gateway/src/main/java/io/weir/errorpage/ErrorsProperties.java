package io.weir.errorpage;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Size;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code weir.errors}: the gateway's own answers to callers that ask for HTML.
 *
 * @param pages pages in place of {@code application/problem+json}: a list of {@code statuses}, each 400 to
 *     599 and in one page, and {@code body}, 1 to 65536 characters, in which <code>{{status}}</code>,
 *     <code>{{title}}</code>, <code>{{reason}}</code> and <code>{{request-id}}</code> are replaced. A page
 *     without statuses has all that no other page lists; at most 32 pages; default: none.
 */
public record ErrorsProperties(
        @Nullable @Valid @Size(max = 32) List<ErrorPageProperties> pages) {

    /** No pages. */
    public static final ErrorsProperties NONE = new ErrorsProperties(null);

    /** Copies the list. */
    public ErrorsProperties {
        pages = pages == null ? null : List.copyOf(pages);
    }
}
