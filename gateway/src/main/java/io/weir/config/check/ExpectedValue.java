package io.weir.config.check;

import io.weir.hedge.HedgeDelay;
import io.weir.limit.DurationOrAuto;
import io.weir.limit.IntOrAuto;
import jakarta.validation.Constraint;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Size;
import java.lang.annotation.Annotation;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.LongFunction;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.format.annotation.DurationFormat;
import org.springframework.util.unit.DataSize;
import org.springframework.util.unit.DataUnit;

/**
 * A description of the valid values of a property, derived from its type and constraints.
 *
 * @param type the type in words: {@code a duration}
 * @param range the valid range: {@code 1ms to 10m}; empty if there is none
 * @param choices the valid words of an enumeration; empty for other types
 */
public record ExpectedValue(String type, String range, List<String> choices) {

    private static final List<DurationFormat.Unit> LARGEST_FIRST =
            Arrays.stream(DurationFormat.Unit.values()).toList().reversed();
    private static final List<String> SIZES = List.of("TB", "GB", "MB", "KB");

    /**
     * The description for a property.
     *
     * @param defaults its default, which determines the spelling of an enumeration's words
     */
    static ExpectedValue of(Class<?> type, Annotation[] constraints, List<String> defaults) {
        if (type.isEnum()) {
            List<String> choices = choices(type, defaults);
            return new ExpectedValue(anyOf(choices), "", choices);
        }
        return new ExpectedValue(type(type), range(type, constraints), List.of());
    }

    /** For a value that does not convert to the type. */
    String typeAndRange() {
        return range.isEmpty() ? type : type + ", " + range;
    }

    /** For a value of the right type that violates a constraint. */
    String rangeOrType() {
        return range.isEmpty() ? type : range;
    }

    /** {@code a, b or c}. */
    static String anyOf(List<String> choices) {
        return choices.size() < 2
                ? String.join("", choices)
                : String.join(", ", choices.subList(0, choices.size() - 1)) + " or " + choices.getLast();
    }

    private static List<String> choices(Class<?> type, List<String> defaults) {
        List<String> names = Arrays.stream(type.getEnumConstants())
                .map(constant -> ((Enum<?>) constant).name())
                .toList();
        boolean asNamed = !defaults.isEmpty() && names.containsAll(defaults);
        return asNamed
                ? names
                : names.stream()
                        .map(name -> name.toLowerCase(Locale.ROOT).replace('_', '-'))
                        .toList();
    }

    private static String type(Class<?> type) {
        if (type == boolean.class || type == Boolean.class) {
            return "true or false";
        }
        if (type == int.class || type == Integer.class) {
            return "a whole number";
        }
        if (type == IntOrAuto.class) {
            return "a whole number or auto";
        }
        if (type == DurationOrAuto.class) {
            return "a duration or auto";
        }
        if (type == HedgeDelay.class) {
            return "a duration or p95";
        }
        if (type == float.class || type == double.class) {
            return "a number";
        }
        if (type == Duration.class) {
            return "a duration";
        }
        if (type == DataSize.class) {
            return "a size";
        }
        if (type == URI.class) {
            return "a URI such as http://orders:8080";
        }
        if (type == String.class) {
            return "text";
        }
        throw new IllegalStateException("unsupported type of a property: " + type);
    }

    private static String range(Class<?> type, Annotation[] constraints) {
        Bounds bounds = new Bounds(type == DataSize.class ? ExpectedValue::size : Long::toString);
        for (Annotation constraint : constraints) {
            String message = String.valueOf(AnnotationUtils.getValue(constraint, "message"));
            if (isConstraint(constraint) && !message.startsWith("{")) {
                // An explicit message replaces the generated range.
                return message;
            }
            bounds.add(constraint);
        }
        return bounds.toString();
    }

    private static boolean isConstraint(Annotation annotation) {
        return annotation.annotationType().isAnnotationPresent(Constraint.class);
    }

    /** {@code 250ms}: uses the largest unit that needs no fraction. */
    static String duration(Duration duration) {
        if (duration.isZero()) {
            return "0";
        }
        for (DurationFormat.Unit unit : LARGEST_FIRST) {
            Duration one = Duration.of(1, unit.asChronoUnit());
            if (duration.toNanos() % one.toNanos() == 0) {
                return duration.dividedBy(one) + unit.asSuffix();
            }
        }
        return duration.toString();
    }

    private static String size(long bytes) {
        for (String unit : SIZES) {
            long one = DataSize.of(1, DataUnit.fromSuffix(unit)).toBytes();
            if (bytes >= one && bytes % one == 0) {
                return bytes / one + unit;
            }
        }
        return bytes + "B";
    }

    /** The bounds set by the constraints. */
    private static final class Bounds {

        private final LongFunction<String> display;
        private @Nullable String from;
        private @Nullable String to;
        private String unit = "";

        Bounds(LongFunction<String> display) {
            this.display = display;
        }

        void add(Annotation constraint) {
            switch (constraint) {
                case Min min -> from = display.apply(min.value());
                case Max max -> to = display.apply(max.value());
                case DecimalMin min -> from = (min.inclusive() ? "" : "more than ") + min.value();
                case DecimalMax max -> to = max.value();
                case DurationMin min -> from = duration(toDuration(min));
                case DurationMax max -> to = duration(toDuration(max));
                case Size size -> {
                    from = size.min() == 0 ? null : Integer.toString(size.min());
                    to = Integer.toString(size.max());
                    unit = " characters";
                }
                default -> {}
            }
        }

        private static Duration toDuration(DurationMin min) {
            return Duration.ofDays(min.days())
                    .plusHours(min.hours())
                    .plusMinutes(min.minutes())
                    .plusSeconds(min.seconds())
                    .plusMillis(min.millis())
                    .plusNanos(min.nanos());
        }

        private static Duration toDuration(DurationMax max) {
            return Duration.ofDays(max.days())
                    .plusHours(max.hours())
                    .plusMinutes(max.minutes())
                    .plusSeconds(max.seconds())
                    .plusMillis(max.millis())
                    .plusNanos(max.nanos());
        }

        @Override
        public String toString() {
            if (from == null) {
                return to == null ? "" : "at most " + to + unit;
            }
            return (to == null ? "at least " + from : from + " to " + to) + unit;
        }
    }
}
