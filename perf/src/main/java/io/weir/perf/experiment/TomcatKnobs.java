package io.weir.perf.experiment;

import io.weir.perf.experiment.ClosedRounds.RequestMode;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import java.time.Duration;
import java.util.List;

/**
 * Tomcat's three limits and 150 users with persistent connections, who think for a second after each answer.
 * A request blocks its thread for 10 ms, so that all users together keep fewer than two threads busy: 5
 * threads serve as much as 200. Each user has a connection meanwhile: connections beyond {@code
 * max-connections} wait in the kernel, connected and unanswered, and callers beyond {@code accept-count}
 * cannot connect. The kernel's queue keeps connections whose callers have given up, so later callers find it
 * full. The original does not have the last settings, with which some callers cannot connect from the
 * beginning.
 */
@Measures(
        name = "tomcat-knobs",
        question = "threads.max, max-connections, accept-count and 150 users: what does a client see at each overflow?",
        quickMinutes = 3,
        fullMinutes = 6)
final class TomcatKnobs extends ClosedExperiment {

    private static final int USERS = 150;
    private static final String PATH = "/delay?ms=10";
    private static final Duration THINK_TIME = Duration.ofSeconds(1);
    private static final String REFERENCE = "200-8192-100";

    private static ClosedRounds knobs(int maxThreads, int maxConnections, int acceptCount, boolean quick) {
        String label = maxThreads + "-" + maxConnections + "-" + acceptCount;
        // With a connection each, nearly all users are served; Tomcat delays some of them for long.
        LoadAssertion served = USERS <= maxConnections ? LoadAssertion.successPercent(99) : LoadAssertion.SOME_FAIL;
        // The step includes the first callers in the kernel's queue: later ones find it full.
        RequestMode mode = RequestMode.REPEAT_FROM_ARRIVAL;
        return new ClosedRounds(
                        label,
                        "delay",
                        "mvc-jdbc",
                        "--server.tomcat.threads.max=" + maxThreads,
                        "--server.tomcat.max-connections=" + maxConnections,
                        "--server.tomcat.accept-count=" + acceptCount)
                .timeout(Duration.ofSeconds(4))
                .warmUp(PATH, 5, 6)
                .thinkTime(THINK_TIME)
                .then(mode, label, PATH, USERS, quick ? 10 : 60, served, LoadAssertion.SOME_SUCCEED);
    }

    @Override
    List<ClosedRounds> services(boolean quick) {
        return List.of(
                knobs(200, 8192, 100, quick),
                knobs(150, 8192, 100, quick),
                knobs(5, 8192, 100, quick),
                knobs(200, 100, 50, quick),
                knobs(200, 100, 10, quick));
    }

    @Override
    void record(List<ClosedRounds> services, ExperimentContext context) {
        double reference = services.getFirst().successes(REFERENCE);
        for (ClosedRounds fewer : services.subList(1, services.size())) {
            if (reference > 0) {
                double percent = 100 * fewer.successes(fewer.label()) / reference;
                context.fact(fewer.label() + ".of-" + REFERENCE, percent, "%");
            }
        }
    }
}
