package io.weir.accesslog;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.access-log}: one line of JSON for each request.
 *
 * @param enabled whether the access log is written.
 * @param file file to append to; default: standard output.
 * @param queueCapacity maximum number of lines that wait to be written; 16 to 10000000. A line that finds the
 *     queue full is dropped and counted ({@code weir_access_log_dropped_total}): an exchange never waits for
 *     a disk.
 */
public record AccessLogProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String file,
        @DefaultValue("65536") @Min(16) @Max(10_000_000) int queueCapacity) {}
