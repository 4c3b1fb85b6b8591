package io.weir.perf.experiment;

import io.weir.perf.experiment.ClosedRounds.RequestMode;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.ExperimentName;
import io.weir.perf.run.Experiment.Question;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.time.Duration;
import java.util.List;

/**
 * Tomcat's three limits and 150 users with persistent connections, at a service of 100 ms. Connections beyond
 * its threads wait in Tomcat. Connections beyond {@code max-connections} wait in the kernel, connected and
 * unanswered; callers beyond {@code accept-count} cannot connect. The kernel's queue keeps connections whose
 * callers have given up, so later callers find it full. The original does not have the last settings, with
 * which some callers cannot connect from the beginning.
 */
@ExperimentName("tomcat-knobs")
@Question("threads.max, max-connections, accept-count and 150 users: what does a client see at each overflow?")
final class TomcatKnobs extends Experiment {

    private static final int USERS = 150;
    private static final String PATH = "/delay?ms=100";

    private record Knobs(int maxThreads, int maxConnections, int acceptCount) {

        String label() {
            return maxThreads + "-" + maxConnections + "-" + acceptCount;
        }

        /** With a connection each, nearly all users are served; Tomcat delays some of them for long. */
        LoadAssertion assertion() {
            return USERS <= maxConnections ? LoadAssertion.successPercent(99) : LoadAssertion.SOME_FAIL;
        }
    }

    private static final List<Knobs> ALL =
            List.of(new Knobs(200, 8192, 100), new Knobs(50, 150, 50), new Knobs(50, 100, 50), new Knobs(50, 100, 10));

    private static Duration length(boolean quick) {
        return Duration.ofSeconds(quick ? 10 : 60);
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        return new Estimate(2 * ALL.size(), length(quick).plusSeconds(25).multipliedBy(ALL.size()));
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        TestServers servers = new TestServers(context);
        double reference = 0;
        for (Knobs knobs : ALL) {
            RunningServer service = servers.service(
                    "mvc-jdbc",
                    "/delay?ms=1",
                    "--server.tomcat.threads.max=" + knobs.maxThreads(),
                    "--server.tomcat.max-connections=" + knobs.maxConnections(),
                    "--server.tomcat.accept-count=" + knobs.acceptCount());
            // The step includes the first callers in the kernel's queue: later ones find it full.
            ClosedRounds rounds = new ClosedRounds(context)
                    .timeout(Duration.ofSeconds(4))
                    .warmUp(PATH, knobs.maxThreads(), Duration.ofSeconds(6))
                    .then(
                            RequestMode.REPEAT_FROM_ARRIVAL,
                            knobs.label(),
                            PATH,
                            USERS,
                            length(context.quick()),
                            knobs.assertion(),
                            LoadAssertion.SOME_SUCCEED);
            rounds.run(service, knobs.label(), "delay");
            context.stop(service);
            double served = rounds.successes(knobs.label());
            if (knobs.label().equals("50-150-50")) {
                reference = served;
            } else if (reference > 0) {
                context.fact(knobs.label() + ".of-50-150-50", 100 * served / reference, "%");
            }
        }
    }
}
