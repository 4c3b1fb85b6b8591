package io.weir.perf.report;

import java.awt.Color;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The words for what became of a request, and their colours: those of the dashboard, by whose doing it was. Several words of one kind are shades of its colour.
 */
final class Outcomes {

    static final String SUCCESS = "success";

    /** Whose doing an outcome is, in the order in which they are stacked. */
    enum Kind {
        ANSWERED(0x1f7d52),
        FALLBACK(0x8457c2),
        CALLER(0x3f6fc4),
        SHED(0xa46200),
        FAILED(0xcc2b38);

        private final int rgb;

        Kind(int rgb) {
            this.rgb = rgb;
        }

        Color colour() {
            return new Color(rgb);
        }
    }

    private static final Set<String> SHED =
            Set.of("circuit-open", "bulkhead-full", "queue-timeout", "gateway-overloaded", "shutting-down");
    private static final Set<String> CALLERS = Set.of(
            "bad-request",
            "payload-too-large",
            "uri-too-long",
            "headers-too-large",
            "client-too-slow",
            "no-route",
            "client-closed");

    private Outcomes() {}

    /** Whose doing it is. What is not the gateway's word is a failure as the caller saw it, such as {@code timeout} or {@code status-500}. */
    static Kind kind(String outcome) {
        if (outcome.equals(SUCCESS)) {
            return Kind.ANSWERED;
        }
        if (outcome.equals("fallback")) {
            return Kind.FALLBACK;
        }
        if (SHED.contains(outcome)) {
            return Kind.SHED;
        }
        return CALLERS.contains(outcome) || outcome.startsWith("status-4") ? Kind.CALLER : Kind.FAILED;
    }

    /** A colour for each, in the order in which they are stacked. */
    static Map<String, Color> colours(Set<String> outcomes) {
        Map<Kind, List<String>> byKind = new TreeMap<>();
        for (Kind kind : Kind.values()) {
            byKind.put(
                    kind,
                    outcomes.stream().filter(one -> kind(one) == kind).sorted().toList());
        }
        Map<String, Color> colours = new LinkedHashMap<>();
        Arrays.stream(Kind.values()).sorted(Comparator.naturalOrder()).forEach(kind -> {
            List<String> words = byKind.getOrDefault(kind, List.of());
            for (int i = 0; i < words.size(); i++) {
                colours.put(words.get(i), shade(kind.colour(), i));
            }
        });
        return colours;
    }

    /** Each a third of the way lighter than the one before. */
    private static Color shade(Color colour, int step) {
        double share = Math.pow(2 / 3.0, step);
        return new Color(
                lighter(colour.getRed(), share), lighter(colour.getGreen(), share), lighter(colour.getBlue(), share));
    }

    private static int lighter(int part, double share) {
        return (int) Math.round(255 - (255 - part) * share);
    }
}
