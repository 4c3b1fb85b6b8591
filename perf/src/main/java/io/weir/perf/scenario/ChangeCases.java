package io.weir.perf.scenario;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Requests;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.scenario.ChangeScenario.Case;
import io.weir.perf.scenario.ChangeScenario.Traffic;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A backend without a queue whose calls become slower or faster, or whose mix of calls changes. */
final class ChangeCases {

    private static final String MIX = "mix";
    private static final String POLLS = "polls";
    private static final String BATCH = "batch";
    private static final String PAUSE = "pause";

    /** The service time changes from {@code before} to {@code after} ms, and back. */
    private record Step(long before, long after, int perSecond, Duration deadline) {

        String name() {
            return "step-%d-%d-%d-%d".formatted(before, after, perSecond, deadline.toMillis());
        }

        String path() {
            return '/' + name() + "/1";
        }

        String text() {
            return "%d to %d ms, %d/s, deadline %.1f s: "
                    .formatted(before, after, perSecond, deadline.toMillis() / 1000.0);
        }
    }

    private final Scenario.Options options;
    private final Duration calm;
    private final Duration changed;

    ChangeCases(Scenario.Options options) {
        this.options = options;
        this.calm = options.seconds(5, 10);
        this.changed = options.seconds(10, 25);
    }

    List<List<Case>> groups() {
        List<List<Case>> groups = new ArrayList<>();
        Duration one = Duration.ofMillis(800);
        Duration two = Duration.ofSeconds(2);
        if (options.quick()) {
            groups.add(steps(new Step(20, 80, 150, one), new Step(20, 400, 100, two), new Step(1, 100, 160, one)));
        } else {
            groups.add(steps(new Step(1, 10, 400, one), new Step(1, 100, 160, one), new Step(1, 600, 100, one)));
            groups.add(steps(new Step(1, 10, 400, two), new Step(1, 100, 600, two), new Step(1, 600, 100, two)));
            groups.add(steps(new Step(20, 40, 400, one), new Step(20, 80, 200, one), new Step(20, 200, 80, one)));
            groups.add(steps(new Step(20, 400, 150, one), new Step(20, 600, 27, one), new Step(20, 40, 100, two)));
            groups.add(steps(new Step(20, 80, 200, two), new Step(20, 200, 300, two), new Step(20, 400, 150, two)));
            groups.add(steps(new Step(20, 600, 100, two), new Step(20, 400, 40, two), new Step(20, 400, 10, one)));
        }
        groups.add(List.of(
                new Case(MIX, Duration.ofSeconds(1), List.of("mix-fast", "mix-slow"), this::changeMix),
                new Case(BATCH, Duration.ofSeconds(1), List.of("batch-short", "batch-large"), this::sendBatch),
                new Case(POLLS, Duration.ofSeconds(40), List.of("polls-short", "polls-long"), this::poll)));
        return groups;
    }

    private List<Case> steps(Step... steps) {
        List<Case> cases = new ArrayList<>();
        for (Step step : steps) {
            cases.add(new Case(
                    step.name(),
                    step.deadline(),
                    List.of(step.name()),
                    (traffic, promises) -> step(step, traffic, promises)));
        }
        return cases;
    }

    private void step(Step step, Traffic traffic, PromiseTable promises) throws InterruptedException {
        traffic.answer(step.path(), step.before());
        Duration total = calm.multipliedBy(2).plus(changed);
        CompletableFuture<Requests> sent = traffic.load(step.path()).send(step.perSecond(), total);
        Thread.sleep(calm);
        long slower = OpenLoad.nowMillis();
        traffic.answer(step.path(), step.after());
        Thread.sleep(changed);
        long back = OpenLoad.nowMillis();
        traffic.answer(step.path(), step.before());

        Requests requests = sent.join();
        Requests after = requests.sentBetween(slower, back);
        answered(promises, step.text() + "answered after the step", 97, after);
        answered(promises, step.text() + "from 5 s on", 99.5, after.where(one -> one.atMillis() >= slower + 5000));
        answered(promises, step.text() + "back", 100, requests.sentBetween(back, Long.MAX_VALUE));
    }

    private void changeMix(Traffic traffic, PromiseTable promises) {
        traffic.answer("/mix-fast/1", 5);
        traffic.answer("/mix-slow/1", 200);
        Duration each = options.seconds(4, 15);
        List<CompletableFuture<Requests>> sent = new ArrayList<>();
        for (int fast : List.of(75, 25, 75)) {
            CompletableFuture<Requests> short5 = traffic.load("/mix-fast/1").send(fast, each);
            CompletableFuture<Requests> long200 = traffic.load("/mix-slow/1").send(100 - fast, each);
            sent.add(short5);
            sent.add(long200);
            short5.join();
            long200.join();
        }
        answered(promises, "5 and 200 ms, 3 : 1, 1 : 3, 3 : 1: answered", 100, OpenLoad.join(sent));
    }

    private void sendBatch(Traffic traffic, PromiseTable promises) throws InterruptedException {
        traffic.answer("/batch-short/1", 10);
        traffic.answer("/batch-large/1", 300);
        CompletableFuture<Requests> calls = traffic.load("/batch-short/1").send(300, calm.multipliedBy(2));
        Thread.sleep(calm);
        Requests batch = traffic.load("/batch-large/1").burst(200).join();
        answered(promises, "200 at once of 300 ms, beside 300/s of 10 ms: answered", 100, batch);
        answered(promises, "300/s of 10 ms, beside a batch: answered", 100, calls.join());
    }

    private void poll(Traffic traffic, PromiseTable promises) throws InterruptedException {
        traffic.answer("/polls-short/1", 15);
        traffic.answer("/polls-long/1", options.quick() ? 12_000 : 30_000);
        CompletableFuture<Requests> calls = traffic.load("/polls-short/1").send(85, calm.plus(changed));
        Thread.sleep(calm);
        Requests polls = traffic.load("/polls-long/1").burst(20).join();
        answered(promises, "20 long polls: answered", 100, polls);
        answered(promises, "85/s of 15 ms, beside 20 long polls: answered", 97, calls.join());
    }

    /** A fixed limit of half more than the calls need, and a pause of the gateway. */
    Case pause() {
        return new Case(
                PAUSE,
                Duration.ofSeconds(2),
                "bulkhead: { max-concurrent-calls: 10, queue-capacity: 10 }",
                List.of(PAUSE),
                (traffic, promises) -> {
                    traffic.answer("/pause/1", 20);
                    CompletableFuture<Requests> sent = traffic.load("/pause/1").send(300, options.seconds(4, 8));
                    Thread.sleep(options.seconds(2, 4));
                    long pid = traffic.gateway()
                            .orElseThrow()
                            .process()
                            .orElseThrow()
                            .pid();
                    signal("-STOP", pid);
                    Thread.sleep(140);
                    signal("-CONT", pid);
                    answered(promises, "300/s of 20 ms, limit 10, a pause of 140 ms: answered", 100, sent.join());
                });
    }

    private static void signal(String name, long pid) throws Exception {
        new ProcessBuilder("kill", name, Long.toString(pid)).start().waitFor();
    }

    static void answered(PromiseTable promises, String text, double percent, Requests requests) {
        int lost = requests.failures().size();
        promises.add(
                text,
                PromiseTable.number(percent, "%"),
                "%.1f %% of %d %s"
                        .formatted(
                                requests.successPercent(),
                                requests.size(),
                                lost == 0 ? "" : requests.failures().countByOutcome())
                        .strip(),
                !requests.isEmpty() && requests.successPercent() >= percent);
    }
}
