package io.weir.perf.simulation;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** What {@code perf/run} wants of this run, from the system properties {@code weir.*}. */
final class Plan {

    /** A stretch of time with a name, such as a fault's. */
    record Phase(String name, Duration length) {}

    private final List<Phase> phases = new ArrayList<>();

    Plan() {
        for (String phase : text("phases").split(";", -1)) {
            int at = phase.lastIndexOf(':');
            phases.add(new Phase(phase.substring(0, at), Duration.ofMillis(Long.parseLong(phase.substring(at + 1)))));
        }
    }

    static String text(String name) {
        return Objects.requireNonNull(System.getProperty("weir." + name), "weir." + name);
    }

    static boolean has(String name) {
        return System.getProperty("weir." + name) != null;
    }

    static double number(String name) {
        return Double.parseDouble(text(name));
    }

    /** How long a caller waits for an answer. */
    static Duration patience() {
        return Duration.ofMillis(Long.parseLong(text("patience")));
    }

    /** Where the rows go. */
    static Path rows() {
        return Path.of(text("rows"));
    }

    /** When the whole run began, in milliseconds since 1970: rows count from there. */
    static long began() {
        return Long.parseLong(text("began"));
    }

    /** One after the other. */
    List<Phase> phases() {
        return List.copyOf(phases);
    }

    /** The name of the phase at that time from the start of the load; the last one's from its end on. */
    String phaseAt(Duration since) {
        Duration end = Duration.ZERO;
        for (Phase phase : phases) {
            end = end.plus(phase.length());
            if (since.compareTo(end) < 0) {
                return phase.name();
            }
        }
        return phases.getLast().name();
    }
}
