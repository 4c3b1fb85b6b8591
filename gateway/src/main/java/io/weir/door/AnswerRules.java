package io.weir.door;

import io.weir.compression.CompressionRule;
import io.weir.cors.CorsRule;
import io.weir.errorpage.ErrorPages;
import org.jspecify.annotations.Nullable;

/**
 * The changes of a route's responses, apart from its filters.
 *
 * @param cors the CORS fields, and the answers to preflight requests; null: they are the backend's
 * @param compression the responses that are compressed; null: none
 * @param errorPages the pages in place of {@code application/problem+json}
 */
public record AnswerRules(@Nullable CorsRule cors, @Nullable CompressionRule compression, ErrorPages errorPages) {

    /** No changes. */
    public static final AnswerRules NONE = new AnswerRules(null, null, ErrorPages.NONE);
}
