package io.weir.perf.scenario;

import static io.weir.perf.scenario.PriorityFigures.CRITICAL;
import static io.weir.perf.scenario.PriorityFigures.NORMAL;
import static io.weir.perf.scenario.PriorityFigures.SHEDDABLE;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.scenario.CallerGroups.GroupAnswers;
import io.weir.perf.scenario.PriorityFigures.ByClass;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Critical, normal and sheddable calls, 10, 30 and 60 % of four times the capacity of a backend with a queue
 * of its own, which also hangs for a while. The gateway has no configured limit. A second one gets the same
 * load without classes, in turns with the first, and then the other proxies.
 *
 * <p>HAProxy has classes in its queue ({@code set-priority-class}), in a strict order without a reserve for
 * the lowest; its limit has to be set by hand. Envoy has two classes, each with connections and a queue of
 * its own (a circuit breaker for {@code DEFAULT} and {@code HIGH}); a class cannot use the other's. Neither
 * notices a hang without health checks.
 */
record PrioritiesScenario(Scenario.Options options) {

    private static final CallerGroups CLASSES =
            new CallerGroups("X-Priority", Map.of(CRITICAL, 80, NORMAL, 240, SHEDDABLE, 480));

    /** A load that the backend can serve, of four times the capacity. */
    private static final double CALM = .75 / 4;
    /** The share of the permits that is kept for the lowest class. */
    private static final double RESERVE = .02;

    /**
     * The requests of one round at one front.
     *
     * @param ended those that ended in the overload
     * @param permits the permits in the hang, for a hundred calls
     */
    private record Round(
            GroupAnswers overload, GroupAnswers ended, double seconds, GroupAnswers healed, ByClass permits) {

        double goodput() {
            return 100 * ended.answered() / (OverloadedFront.CAPACITY * seconds);
        }

        double answeredPerSecond(String name) {
            return ended.answered(name) / seconds;
        }
    }

    PromiseTable run() throws Exception {
        PromiseTable promises = new PromiseTable();
        List<String> classes = options.without().contains(Scenario.PRIORITIES)
                ? List.of()
                : List.of("--weir.edge.trusted-proxies=127.0.0.1", "--weir.edge.priority-header=X-Priority");
        List<Round> with = new ArrayList<>();
        List<Round> without = new ArrayList<>();
        try (OverloadedFront weir = OverloadedFront.gateway(options, classes);
                OverloadedFront unclassified = OverloadedFront.gateway(options, List.of())) {
            for (int round = 1; round <= (options.quick() ? 1 : 3); round++) {
                String number = round == 1 ? "" : " " + round;
                with.add(play("weir" + number, weir));
                without.add(play("unclassified" + number, unclassified));
            }
        }
        PriorityFigures figures = figures(with, goodput(without));
        figures.judge(options.quick(), promises);
        figures.addFacts("weir", promises);
        figures.addFactsOfClasses("weir", promises);
        figures(without, goodput(without)).addFacts("unclassified", promises);
        for (PeerProxy peer : Scenario.installedPeers()) {
            try (OverloadedFront front = OverloadedFront.peer(options, peer, "priorities")) {
                Round round = play(peer.label(), front);
                PriorityFigures beside = figures(List.of(round), round.goodput());
                beside.addFacts(peer.label(), promises);
                show(peer.label(), beside, promises);
            }
        }
        return promises;
    }

    private static void show(String front, PriorityFigures figures, PromiseTable promises) {
        promises.show(
                front + ": answered in time, by class; from the heal on; all",
                String.format(
                        Locale.ROOT,
                        "%s; %s; %.1f %%",
                        figures.answered().text("%"),
                        figures.healed().text("%"),
                        figures.goodput()));
    }

    /** Calm, overload, and a hang and its heal in the overload. */
    private Round play(String name, OverloadedFront front) throws InterruptedException {
        Duration overload = options.seconds(10, 20);
        Duration hang = Duration.ofSeconds(4);
        Duration after = Duration.ofSeconds(5);
        options.begin(Scenario.WARM_UP);
        CLASSES.times(CALM).send(front.port(), Duration.ofSeconds(3)).join();
        options.begin(name + ": overload");
        long began = OpenLoad.nowMillis();
        CompletableFuture<GroupAnswers> sent =
                CLASSES.send(front.port(), overload.plus(hang).plus(after));
        Thread.sleep(overload);
        options.begin(name + ": hang");
        ByClass before = permits(front);
        long hangs = OpenLoad.nowMillis();
        front.service().hang();
        Thread.sleep(hang);
        ByClass granted = permits(front);
        options.begin(name + ": healed");
        long heals = OpenLoad.nowMillis();
        front.service().heal();
        GroupAnswers all = sent.join();
        // The calls of the last second before the hang may meet it.
        long end = hangs - CallerGroups.IN_TIME.toMillis();
        GroupAnswers hung = all.sentBetween(hangs, heals);
        ByClass permits = ByClass.of(each -> 100 * (granted.of(each) - before.of(each)) / hung.sent(each));
        GroupAnswers overloaded = all.sentBetween(began, end);
        return new Round(
                overloaded,
                overloaded.endedBefore(end),
                (end - began) / 1000.0,
                all.sentBetween(heals, Long.MAX_VALUE),
                permits);
    }

    private static ByClass permits(OverloadedFront front) {
        return ByClass.of(name -> front.anyGateway()
                .map(gateway -> (double)
                        gateway.count("weir_permits_granted_total", "backend=\"mvc\"", "priority=\"" + name + '"'))
                .orElse(Double.NaN));
    }

    private static double goodput(List<Round> rounds) {
        return mean(rounds, Round::goodput);
    }

    private static double mean(List<Round> rounds, ToDoubleFunction<Round> figure) {
        return rounds.stream().mapToDouble(figure).average().orElseThrow();
    }

    private static ByClass meanByClass(List<Round> rounds, Function<Round, ByClass> figure) {
        return ByClass.of(name -> mean(rounds, round -> figure.apply(round).of(name)));
    }

    private static PriorityFigures figures(List<Round> rounds, double unclassified) {
        double critical = mean(rounds, round -> round.answeredPerSecond(CRITICAL));
        double normal = mean(rounds, round -> round.answeredPerSecond(NORMAL));
        double sheddable = mean(rounds, round -> round.answeredPerSecond(SHEDDABLE));
        double rest = unclassified / 100 * OverloadedFront.CAPACITY * (1 - RESERVE) - critical;
        return new PriorityFigures(
                meanByClass(rounds, round -> ByClass.of(round.overload()::answeredPercent)),
                100 * normal / rest,
                100 * sheddable / OverloadedFront.CAPACITY,
                goodput(rounds),
                unclassified,
                meanByClass(rounds, Round::permits),
                meanByClass(rounds, round -> ByClass.of(round.healed()::answeredPercent)));
    }
}
