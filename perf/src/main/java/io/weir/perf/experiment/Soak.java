package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Requests;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.ProcessSample;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers.GatewayUnderTest;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * An hour of random faults at one backend (quick: three minutes), with a fixed seed. After the load has
 * ended, all permits, waiters and connections must be free, no caller may be without an answer, and the
 * gateway must have counted all requests. Threads and memory of the last third are compared with the second
 * one: at most two more threads, and, in a full run, at most a tenth more memory. Without samples of both
 * thirds the run fails.
 */
@Measures(
        name = "soak",
        question = "an hour of mixed faults: permits, connections, memory, threads flat? nothing lost?",
        quickMinutes = 4,
        fullMinutes = 61,
        processes = 3,
        remote = true)
final class Soak extends Experiment {

    private static final int RATE = 50;
    private static final long SEED = 20_261_121;
    private static final String COUNTED = "weir_requests_seconds_count";
    private static final List<String> FAULTS = List.of(
            "{\"kind\": \"hang\"}",
            "{\"kind\": \"hang\", \"probability\": 0.3}",
            "{\"kind\": \"latency\", \"distribution\": \"uniform\", \"min\": \"100ms\", \"max\": \"2s\"}",
            "{\"kind\": \"errors\", \"shares\": {\"500\": 0.3, \"503\": 0.3}}",
            "{\"kind\": \"reset\", \"probability\": 0.5}",
            "{\"kind\": \"truncate\", \"share\": 0.5, \"probability\": 0.5}",
            "{\"kind\": \"trickle\", \"bytes\": 1, \"interval\": \"200ms\"}");

    private static Phases phases(boolean quick) {
        int third = quick ? 60 : 1200;
        return new Phases(quick ? 10 : 30)
                .then("first third", third)
                .then("second third", third)
                .then("last third", third);
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        GatewayUnderTest tested = context.servers().localGateway();
        RunningServer gateway = tested.gateway();
        double countedBefore = context.isRemote() ? 0 : gateway.metric(COUNTED);
        Requests requests = measure(tested, context);
        if (!context.isRemote()) {
            checkGauges(gateway, context);
            double counted = gateway.metric(COUNTED) - countedBefore;
            context.fact("requests.sent", requests.size(), "");
            context.fact("requests.counted", counted, "");
            context.require(
                    "the gateway has counted the " + requests.size() + " requests that were sent",
                    counted == requests.size(),
                    Long.toString((long) counted));
        }
        checkAnswers(requests, context);
        if (!context.isRemote()) {
            checkResources(context);
        }
    }

    private static Requests measure(GatewayUnderTest tested, ExperimentContext context) throws InterruptedException {
        PhasedLoad load = new PhasedLoad(context, "gateway", tested.gateway().url(), 10, phases(context.quick()))
                .callers(NeighbourLoad.NEIGHBOUR, "/reactive/delay?ms=20", RATE)
                .callers(NeighbourLoad.SICK, "/mvc/delay?ms=20", RATE)
                .require(PhasedLoad::isFault, NeighbourLoad.NEIGHBOUR, List.of(LoadAssertion.successPercent(99)));
        Random random = new Random(SEED);
        context.fact("seed", SEED, "");
        return load.run((phase, name, at) -> {
                    if (!name.equals(RunResult.WARM_UP)) {
                        context.beginStep(at, name, "");
                        setFaults(tested.backend(), random, load.endMillis(phase), context);
                    }
                })
                .requests();
    }

    /** Sets and removes one random fault after the other, as long as there is time for the next one. */
    private static void setFaults(RunningServer backend, Random random, long untilMillis, ExperimentContext context)
            throws InterruptedException {
        while (true) {
            long from = context.nowMillis() + 1000 + random.nextInt(3000);
            long to = from + 2000 + random.nextInt(6000);
            String fault = FAULTS.get(random.nextInt(FAULTS.size()));
            if (to + 1000 > untilMillis) {
                return;
            }
            context.sleepUntil(from);
            backend.setFault(fault);
            context.sleepUntil(to);
            backend.heal();
            context.span(fault.replaceAll(".*\"kind\": \"([a-z-]+)\".*", "$1"), from, to);
        }
    }

    private static void checkGauges(RunningServer gateway, ExperimentContext context) throws InterruptedException {
        context.progress("the load has ended");
        for (String gauge : List.of(
                "weir_permits_used", "weir_queue_length", "weir_streams_used", "weir_pool_pending", "weir_inflight")) {
            checkZero(gateway, context, gauge);
        }
        checkZero(gateway, context, "weir_pool_connections", "state=\"acquired\"");
        checkZero(gateway, context, "weir_connections_open");
    }

    /** Waits up to ten seconds: idle connections and the last exchanges need time to end. */
    private static void checkZero(RunningServer gateway, ExperimentContext context, String gauge, String... labels)
            throws InterruptedException {
        long until = context.nowMillis() + 10_000;
        double value = gateway.metric(gauge, labels);
        while (value != 0 && context.nowMillis() < until) {
            context.sleepUntil(context.nowMillis() + 200);
            value = gateway.metric(gauge, labels);
        }
        context.fact("left." + gauge, value, "");
        context.require(gauge + " is 0 after the load", value == 0, Double.toString(value));
    }

    private static void checkAnswers(Requests requests, ExperimentContext context) {
        long unanswered = requests.count(one -> one.outcome().equals("timeout"));
        context.fact("requests.without.end", (double) unanswered, "");
        context.require("no caller waits longer than every deadline", unanswered == 0, Long.toString(unanswered));
        Requests neighbour = requests.where(one -> one.name().equals(NeighbourLoad.NEIGHBOUR));
        context.fact("neighbour.success", neighbour.successPercent(), "%");
    }

    private static void checkResources(ExperimentContext context) {
        double threads =
                context.mean("gateway", 3, ProcessSample::threads) - context.mean("gateway", 2, ProcessSample::threads);
        double memory = context.mean("gateway", 3, ProcessSample::rssBytes)
                / context.mean("gateway", 2, ProcessSample::rssBytes);
        context.fact("gateway.threads.more", threads, "in the last third");
        context.fact("gateway.memory.ratio", memory, "last third to the one before");
        String measured = String.format(Locale.ROOT, "%.1f", threads);
        context.require("the gateway has at most 2 threads more in the last third", threads <= 2, measured);
        if (!context.quick()) {
            context.require(
                    "the gateway has at most 1.1 times the memory in the last third",
                    memory <= 1.1,
                    String.format(Locale.ROOT, "%.3f", memory));
        }
    }
}
