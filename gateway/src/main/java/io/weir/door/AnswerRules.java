package io.weir.door;

import io.weir.compression.CompressionRule;
import io.weir.cors.CorsRule;
import org.jspecify.annotations.Nullable;

/**
 * The changes of a route's responses, apart from its filters.
 *
 * @param cors the CORS fields, and the answers to preflight requests; null: they are the backend's
 * @param compression the responses that are compressed; null: none
 */
public record AnswerRules(@Nullable CorsRule cors, @Nullable CompressionRule compression) {

    /** No changes. */
    public static final AnswerRules NONE = new AnswerRules(null, null);
}
