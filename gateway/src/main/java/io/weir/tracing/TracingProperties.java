package io.weir.tracing;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.time.Duration;
import java.util.Map;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.tracing}: spans for OpenTelemetry, over OTLP/HTTP.
 *
 * @param enabled whether spans are created and exported.
 * @param endpoint URL of the collector, with the path; default: an OpenTelemetry collector on this machine.
 * @param headers headers for the collector, such as an {@code Authorization}; default: none.
 * @param serviceName {@code service.name} of the spans; 1 to 255 characters.
 * @param samplingRatio share of the traces started by the gateway that is recorded; 0 to 1. For a trace that
 *     the caller started, the caller's {@code traceparent} decides.
 * @param queueCapacity maximum number of spans that wait to be exported; 512 to 1000000. A span that finds
 *     the queue full is dropped and counted ({@code weir_spans_total}): an exchange never waits for a
 *     collector.
 * @param exportInterval longest time that a span waits for its batch to fill; 10ms to 1m. A batch of 512 is
 *     exported at once.
 * @param exportTimeout time for an export, including retries; 100ms to 1m. Then its spans are lost, and
 *     counted.
 */
public record TracingProperties(
        @DefaultValue("false") boolean enabled,

        @DefaultValue("http://localhost:4318/v1/traces")
        @Pattern(
                regexp = "https?://[^/?#@\\s]+(/[^?#\\s]*)?",
                message = "http://host:port/path or https://host:port/path")
        String endpoint,

        @DefaultValue Map<String, String> headers,
        @DefaultValue("weir") @Size(min = 1, max = 255) String serviceName,

        @DefaultValue("0.1") @DecimalMin("0") @DecimalMax("1")
        double samplingRatio,

        @DefaultValue("8192") @Min(512) @Max(1_000_000) int queueCapacity,

        @DefaultValue("1s") @DurationMin(millis = 10) @DurationMax(minutes = 1)
        Duration exportInterval,

        @DefaultValue("10s") @DurationMin(millis = 100) @DurationMax(minutes = 1)
        Duration exportTimeout) {

    /** Copies the headers. */
    public TracingProperties {
        headers = Map.copyOf(headers);
    }
}
