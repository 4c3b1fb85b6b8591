package io.weir.perf.result;

import java.awt.Color;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Outcomes by their cause, in the order in which plots stack them, with the dashboard's colours. */
public enum OutcomeKind {
    ANSWERED(0x1f7d52, Request.SUCCESS),
    FALLBACK(0x8457c2, "fallback"),
    CALLER(
            0x3f6fc4,
            "unauthorized forbidden rate-limited bad-request payload-too-large misdirected uri-too-long headers-too-large"
                    + " client-too-slow no-route client-closed"),
    SHED(0xa46200, "circuit-open bulkhead-full queue-timeout queue-evicted gateway-overloaded shutting-down"),
    FAILED(0xcc2b38, "");

    private final int rgb;

    @SuppressWarnings("ImmutableEnumChecker") // All are made by Set.of.
    private final Set<String> outcomes;

    OutcomeKind(int rgb, String outcomes) {
        this.rgb = rgb;
        this.outcomes = Set.of(outcomes.split(" ", -1));
    }

    public Color colour() {
        return new Color(rgb);
    }

    /** The colours of the first outcomes of this kind; few runs have more. */
    public Stream<Color> shades() {
        return IntStream.range(0, 6).mapToObj(index -> shade(colour(), index));
    }

    /** An outcome that is not the gateway's word is the caller's view of a failure. */
    public static OutcomeKind of(String outcome) {
        return Stream.of(values())
                .filter(kind -> kind.outcomes.contains(outcome))
                .findFirst()
                .orElse(outcome.startsWith("status-4") ? CALLER : FAILED);
    }

    /** A colour for each outcome, in stacking order. Outcomes of one kind have shades of its colour. */
    public static Map<String, Color> colours(Collection<String> outcomes) {
        Map<String, Color> colours = new LinkedHashMap<>();
        for (OutcomeKind kind : values()) {
            List<String> words = outcomes.stream()
                    .distinct()
                    .filter(one -> of(one) == kind)
                    .sorted()
                    .toList();
            for (int i = 0; i < words.size(); i++) {
                colours.put(words.get(i), shade(kind.colour(), i));
            }
        }
        return colours;
    }

    /** Each shade is a third lighter than the previous one. */
    private static Color shade(Color colour, int index) {
        double share = Math.pow(2 / 3.0, index);
        return new Color(
                lighter(colour.getRed(), share), lighter(colour.getGreen(), share), lighter(colour.getBlue(), share));
    }

    private static int lighter(int part, double share) {
        return (int) Math.round(255 - (255 - part) * share);
    }
}
