package io.weir.perf.scenario;

import io.weir.perf.result.PromiseTable;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * The figures of a gateway whose backend gets four times its capacity, in three classes, and hangs meanwhile;
 * and what they must be.
 *
 * @param answered the share of each class's calls that were answered in time, in percent
 * @param normalOfRest the normal calls that were answered, in percent of what critical calls and the reserve
 *     of the lowest class leave of the answers without classes
 * @param sheddable the sheddable calls that were answered, in percent of the capacity
 * @param goodput all calls that were answered in time, in percent of the capacity
 * @param unclassified the same of a gateway beside it, with the same load, but without classes
 * @param permits the permits in the hang, for a hundred calls of each class; only of a gateway with classes
 * @param healed the share of each class's calls from the heal on that were answered in time, in percent
 */
record PriorityFigures(
        ByClass answered,
        double normalOfRest,
        double sheddable,
        double goodput,
        double unclassified,
        ByClass permits,
        ByClass healed) {

    static final String CRITICAL = "critical";
    static final String NORMAL = "normal";
    static final String SHEDDABLE = "sheddable";

    private static final String ORDER = "in the order of classes";

    /** A figure of each class. */
    record ByClass(double critical, double normal, double sheddable) {

        static ByClass of(ToDoubleFunction<String> figure) {
            return new ByClass(
                    figure.applyAsDouble(CRITICAL), figure.applyAsDouble(NORMAL), figure.applyAsDouble(SHEDDABLE));
        }

        double of(String name) {
            return switch (name) {
                case CRITICAL -> critical;
                case NORMAL -> normal;
                default -> sheddable;
            };
        }

        /** Adds a fact of each class; its name has {@code %s} in the place of the class. */
        void addFacts(String fact, String unit, PromiseTable promises) {
            List.of(CRITICAL, NORMAL, SHEDDABLE).forEach(name -> promises.fact(fact.formatted(name), of(name), unit));
        }

        /** Whether no class has more than a higher one, and the highest has more than the lowest. */
        boolean isOrdered() {
            return critical >= normal && normal >= sheddable && critical > sheddable;
        }

        String text(String unit) {
            return String.format(Locale.ROOT, "%.1f, %.1f, %.1f %s", critical, normal, sheddable, unit);
        }
    }

    /** Adds the promises; the bounds of a quick run are wider, for a busy machine. */
    void judge(boolean quick, PromiseTable promises) {
        promises.atLeast("critical, 4 x the capacity: answered in time", quick ? 97 : 99.9, answered.critical, "%");
        promises.atLeast(
                "normal: answered, of what critical calls and the reserve leave", quick ? 85 : 97, normalOfRest, "%");
        promises.atLeast("sheddable: answered, of the capacity", quick ? .5 : 1, sheddable, "%");
        promises.atMost(
                "all: answered fewer than without classes, of the capacity",
                quick ? 10 : 1,
                unclassified - goodput,
                "points");
        promises.add("hang: permits for a hundred calls, by class", ORDER, permits.text(""), permits.isOrdered());
        promises.atLeast("from the heal on: critical answered in time", quick ? 80 : 90, healed.critical, "%");
        promises.add("from the heal on: answered in time, by class", ORDER, healed.text("%"), healed.isOrdered());
    }

    /** Adds the figures that are compared between fronts. */
    void addFacts(String front, PromiseTable promises) {
        answered.addFacts(front + ".%s.answered", "%", promises);
        healed.addFacts(front + ".healed.%s.answered", "%", promises);
        promises.fact(front + ".goodput", goodput, "% of its capacity");
    }

    /** Adds the figures that only a gateway with classes has. */
    void addFactsOfClasses(String front, PromiseTable promises) {
        promises.fact(front + ".normal.of-rest", normalOfRest, "% of what is left");
        promises.fact(front + ".sheddable.goodput", sheddable, "% of its capacity");
        permits.addFacts(front + ".hang.%s.permits", "of 100 calls", promises);
    }
}
