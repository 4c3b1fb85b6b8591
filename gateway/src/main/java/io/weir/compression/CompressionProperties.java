package io.weir.compression;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.util.List;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * {@code weir.routes.<id>.compression}: gzip for the answers of a route, where the caller accepts it and the
 * backend has not encoded them. Off unless configured; {@code compression: { min-size: 1KB }} switches it on.
 *
 * <p>Do not compress answers that contain a secret, such as a CSRF token, beside text that the caller can
 * choose: the size of the compressed answer then reveals the secret to a site that makes browsers send many
 * requests (BREACH). Leave such routes out, or let the backend mask its tokens in each answer.
 *
 * <p>The access log and the metrics have the sizes that the backend sent.
 *
 * @param minSize answers with a smaller {@code Content-Length} are not compressed; 0B to 1MB. Below 1 KB the
 *     answer fits into one packet anyway.
 * @param contentTypes media types of answers that are compressed; {@code text/*}: all types of text,
 *     {@code application/*+json}: all types in JSON; up to 100. gRPC is never compressed by the gateway.
 */
public record CompressionProperties(
        @DefaultValue("1KB") @Min(0) @Max(1 << 20) DataSize minSize,

        @DefaultValue({
            "text/html",
            "text/css",
            "text/plain",
            "text/xml",
            "text/csv",
            "text/javascript",
            "application/javascript",
            "application/json",
            "application/*+json",
            "application/xml",
            "application/*+xml",
            "image/svg+xml"
        })
        @Size(max = 100)
        List<
                        @Pattern(
                                regexp = "(?!application/grpc)" + MediaTypes.FORM,
                                message = "a media type, text/* or application/*+json; never gRPC")
                        String>
                contentTypes) {

    /** Copies the list. */
    public CompressionProperties {
        contentTypes = List.copyOf(contentTypes);
    }
}
