package io.weir.perf.scenario;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.RunningServer;
import io.weir.perf.scenario.CallerGroups.GroupAnswers;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Five tenants send four times the capacity of a backend with a queue of its own: one of them 70 %, one 21 %,
 * and three 3 % each, which is less than their share. Then the first one sends all of it alone. At last a
 * million names come. The gateway has no configured limit.
 *
 * <p>HAProxy and Envoy have no fairness, but a rate for each tenant: HAProxy in a stick table, Envoy in
 * descriptors that it makes for each value. Here both have the rate that fits this load best. A tenant that
 * is alone gets no more than that. The number of tenants that are counted is bounded in both.
 */
record TenantsScenario(Scenario.Options options) {

    private static final String BIG = "big";
    private static final String MEDIUM = "medium";
    private static final List<String> SMALL = List.of("small-1", "small-2", "small-3");
    private static final int SMALL_RATE = 24;
    private static final CallerGroups TENANTS = new CallerGroups(
            "X-Tenant",
            Map.of(BIG, 560, MEDIUM, 168, "small-1", SMALL_RATE, "small-2", SMALL_RATE, "small-3", SMALL_RATE));
    private static final CallerGroups ALONE = new CallerGroups("X-Tenant", Map.of(BIG, 800));

    /** The share of each of the two tenants that ask for more: half of what the others leave. */
    private static final double SHARE = (OverloadedFront.CAPACITY - 3 * SMALL_RATE) / 2;

    private static final double CALM = .75 / 4;
    private static final int NAMES_RATE = 2_500;
    private static final Pattern COUNTED = Pattern.compile("\"tenants\"\\s*:\\s*\\{\\s*\"count\"\\s*:\\s*(\\d+)");

    /**
     * The answers to all tenants, and to the one alone, while the backend is overloaded.
     *
     * @param ended those to all tenants that ended within that time
     * @param alone those to the one that ended within that time
     */
    private record Answers(GroupAnswers together, GroupAnswers ended, GroupAnswers alone, double seconds) {

        double small() {
            return SMALL.stream().mapToDouble(together::answeredPercent).min().orElseThrow();
        }

        double medium() {
            return 100 * ended.answered(MEDIUM) / seconds / SHARE;
        }

        double goodput() {
            return 100 * ended.answered() / seconds / OverloadedFront.CAPACITY;
        }

        double goodputAlone() {
            return 100 * alone.answered() / seconds / OverloadedFront.CAPACITY;
        }

        void addFacts(String front, PromiseTable promises) {
            promises.fact(front + ".small.answered", small(), "%");
            promises.fact(front + ".medium.answered", together.answeredPercent(MEDIUM), "%");
            promises.fact(front + ".big.answered", together.answeredPercent(BIG), "%");
            promises.fact(front + ".goodput", goodput(), "% of its capacity");
            promises.fact(front + ".alone.goodput", goodputAlone(), "% of its capacity");
        }
    }

    PromiseTable run() throws Exception {
        PromiseTable promises = new PromiseTable();
        List<String> fairness = options.without().contains(Scenario.TENANTS)
                ? List.of()
                : List.of("--weir.edge.trusted-proxies=127.0.0.1", "--weir.backends.mvc.fairness.key=header:X-Tenant");
        try (OverloadedFront weir = OverloadedFront.gateway(options, fairness)) {
            Answers answers = play("weir", weir);
            TenantFigures figures = sendNames(answers, weir);
            figures.judge(options.quick(), promises);
            answers.addFacts("weir", promises);
            promises.fact("weir.medium.of-share", figures.medium(), "% of its share");
            promises.fact("weir.names.counted", (double) figures.countedNames(), "");
            promises.fact("weir.names.heap", figures.heapMegabytes(), "MB");
        }
        for (PeerProxy peer : Scenario.installedPeers()) {
            try (OverloadedFront front = OverloadedFront.peer(options, peer, "tenants")) {
                Answers beside = play(peer.label(), front);
                beside.addFacts(peer.label(), promises);
                promises.show(
                        peer.label() + ", 60/s for each: the least small, medium, all; alone",
                        String.format(
                                Locale.ROOT,
                                "%.1f %%, %.1f %% of its share, %.1f %%; %.1f %%",
                                beside.small(),
                                beside.medium(),
                                beside.goodput(),
                                beside.goodputAlone()));
            }
        }
        return promises;
    }

    private Answers play(String name, OverloadedFront front) throws InterruptedException {
        Duration time = options.seconds(10, 30);
        options.begin(Scenario.WARM_UP);
        TENANTS.times(CALM).send(front.port(), Duration.ofSeconds(3)).join();
        options.begin(name + ": together");
        long began = OpenLoad.nowMillis();
        GroupAnswers together = TENANTS.send(front.port(), time).join();
        options.begin(name + ": alone");
        long beganAlone = OpenLoad.nowMillis();
        GroupAnswers alone = ALONE.send(front.port(), time).join();
        return new Answers(
                together,
                together.endedBefore(began + time.toMillis()),
                alone.endedBefore(beganAlone + time.toMillis()),
                time.toSeconds());
    }

    /** Sends many names, each once: the growth of the heap and the number of counted names are bounded. */
    private TenantFigures sendNames(Answers answers, OverloadedFront weir) throws InterruptedException {
        options.begin("names");
        // The names are no part of the load that is compared.
        OpenLoad load = Scenario.load(weir.port(), "/mvc/names").unrecorded();
        // The connections of such a load take memory, too.
        sendNames(load, "first", Duration.ofSeconds(3));
        double before = weir.liveHeapMegabytes();
        int sent = sendNames(load, "tenant", options.seconds(8, 400));
        long counted = counted(weir.gateway());
        double growth = weir.liveHeapMegabytes() - before;
        return new TenantFigures(
                answers.small(), answers.medium(), answers.goodput(), answers.goodputAlone(), sent, counted, growth);
    }

    private static int sendNames(OpenLoad load, String prefix, Duration time) {
        return load.withHeaders("X-Tenant", i -> String.format(Locale.ROOT, "%s-%09d", prefix, i))
                .run(NAMES_RATE, time)
                .size();
    }

    private static long counted(RunningServer gateway) {
        Matcher counted = COUNTED.matcher(
                HttpControl.get(gateway.management() + "/actuator/weir/mvc").orElse(""));
        return counted.find() ? Long.parseLong(counted.group(1)) : 0;
    }
}
