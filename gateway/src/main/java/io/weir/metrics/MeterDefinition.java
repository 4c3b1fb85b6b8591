package io.weir.metrics;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The definition of a meter, as Micrometer creates it.
 *
 * @param meterName the name in Micrometer, with dots; {@link #prometheusNames()} gives the names in a scrape
 * @param unit the base unit; seconds for timers, null for plain numbers
 * @param tags the keys of the tags, in the order of their values
 * @param description the help text of a scrape
 */
public record MeterDefinition(
        Kind kind, String meterName, @Nullable String unit, List<String> tags, String description) {

    /** The kind of a meter. */
    public enum Kind {
        /** Number and duration of events, as a histogram. */
        TIMER,
        /** A total since the start. */
        COUNTER,
        /** A present value. */
        GAUGE
    }

    /**
     * The upper bounds of the buckets of all timers, from a refusal's millisecond to the longest wait at an
     * edge. Neighbours differ by a factor of at most 2.5, which bounds the error of a quantile computed from
     * them.
     */
    static final List<Duration> BUCKETS = Stream.of(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
            .map(Duration::ofMillis)
            .toList();

    static MeterDefinition timer(String meterName, String... tags) {
        return new MeterDefinition(Kind.TIMER, meterName, "seconds", List.of(tags), "");
    }

    static MeterDefinition counter(String meterName, String... tags) {
        return new MeterDefinition(Kind.COUNTER, meterName, null, List.of(tags), "");
    }

    static MeterDefinition gauge(String meterName, String... tags) {
        return new MeterDefinition(Kind.GAUGE, meterName, null, List.of(tags), "");
    }

    MeterDefinition in(String measured) {
        return new MeterDefinition(kind, meterName, measured, tags, description);
    }

    MeterDefinition describedAs(String text) {
        return new MeterDefinition(kind, meterName, unit, tags, text);
    }

    /** The names of the samples in a Prometheus scrape. */
    public List<String> prometheusNames() {
        String base = meterName.replace('.', '_').toLowerCase(Locale.ROOT);
        if (unit != null && !base.endsWith('_' + unit)) {
            base = base + '_' + unit;
        }
        return switch (kind) {
            case TIMER -> List.of(base + "_bucket", base + "_count", base + "_sum", base + "_max");
            case COUNTER -> List.of(base + "_total");
            case GAUGE -> List.of(base);
        };
    }
}
