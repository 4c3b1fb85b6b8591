package io.weir.perf.scenario;

import static io.weir.perf.scenario.ChangeCases.answered;

import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.scenario.ChangeScenario.Case;
import io.weir.perf.scenario.ChangingBackend.Answer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/** One route, one caller or one part of a backend fails, and the rest of it is healthy. */
final class EvidenceCases {

    private static final String SWALLOWS = "swallows";
    private static final List<String> ONE = List.of("127.0.2.1");
    private static final List<String> OTHERS =
            IntStream.rangeClosed(1, 10).mapToObj(n -> "127.0.3." + n).toList();
    private static final int TOTAL_PER_SECOND = 100;

    /** What a failing route or caller gets. */
    private enum Kind {
        ERROR_500("answers 500", 500),
        ERROR_503("answers 503", 503),
        QUOTA_429("answers 429", 429),
        HANG("hangs", 0);

        private final String does;
        private final int status;

        Kind(String does, int status) {
            this.does = does;
            this.status = status;
        }

        Answer answer() {
            return new Answer(status, Duration.ofMillis(1));
        }
    }

    private final Scenario.Options options;
    private final Duration calm;
    private final Duration failing;

    EvidenceCases(Scenario.Options options) {
        this.options = options;
        this.calm = options.seconds(4, 8);
        this.failing = options.seconds(8, 20);
    }

    List<List<Case>> groups() {
        List<List<Case>> groups = new ArrayList<>();
        if (options.quick()) {
            groups.add(List.of(route(Kind.ERROR_500, 44), route(Kind.ERROR_500, 85), route(Kind.HANG, 60)));
            groups.add(List.of(
                    caller(Kind.QUOTA_429, 300),
                    caller(Kind.ERROR_503, 100),
                    caller(Kind.HANG, 20),
                    shard(20),
                    swallow()));
            return groups;
        }
        for (Kind kind : List.of(Kind.ERROR_500, Kind.HANG)) {
            groups.add(List.of(route(kind, 10), route(kind, 44), route(kind, 60), route(kind, 85)));
        }
        for (Kind kind : Kind.values()) {
            groups.add(List.of(caller(kind, 20), caller(kind, 100)));
            groups.add(List.of(caller(kind, 300)));
        }
        groups.add(List.of(shard(5), shard(20), shard(40), swallow()));
        return groups;
    }

    /** A share of the calls uses a route that fails; two sibling routes are healthy. */
    private Case route(Kind kind, int percent) {
        String name = "route-" + kind.status + '-' + percent;
        List<String> routes = List.of(name + "-bad", name + "-1", name + "-2");
        return new Case(name, Duration.ofSeconds(2), routes, (traffic, promises) -> {
            List<String> paths =
                    routes.stream().map(route -> '/' + route + "/1").toList();
            paths.forEach(path -> traffic.answer(path, 10));
            Duration total = calm.plus(failing).plus(calm);
            int perSecond = TOTAL_PER_SECOND * percent / 100;
            CompletableFuture<Requests> failed = traffic.load(paths.get(0)).send(perSecond, total);
            CompletableFuture<Requests> others =
                    traffic.load(paths.get(1), paths.get(2)).send(TOTAL_PER_SECOND - perSecond, total);
            Thread.sleep(calm);
            long begins = OpenLoad.nowMillis();
            traffic.backend().set(paths.get(0), kind.answer());
            Thread.sleep(failing);
            long heals = OpenLoad.nowMillis();
            traffic.answer(paths.get(0), 10);

            String text = "%d %% of the calls on a route that %s: ".formatted(percent, kind.does);
            answered(promises, text + "siblings", 100, others.join());
            Requests requests = failed.join();
            Requests known = requests.sentBetween(begins + millisUntilKnown(kind, perSecond), heals);
            promises.all(text + "refused", known.count(EvidenceCases::isRefused), known.size());
            answered(
                    promises,
                    text + "from 1.5 s after the heal",
                    100,
                    requests.sentBetween(heals + 1500, Long.MAX_VALUE));
        });
    }

    /** The window needs twenty calls of which half failed; a stall is known after its duration. */
    private static long millisUntilKnown(Kind kind, int perSecond) {
        return kind == Kind.HANG ? 3000 : 1000 + 100_000L / perSecond;
    }

    private static boolean isRefused(Request request) {
        return request.outcome().startsWith("circuit-open");
    }

    /** One caller fails, beside 60/s of ten others on the same route. */
    private Case caller(Kind kind, int perSecond) {
        String name = "caller-" + kind.status + '-' + perSecond;
        return new Case(name, Duration.ofSeconds(1), List.of(name), (traffic, promises) -> {
            String good = '/' + name + "/1";
            String bad = '/' + name + "/bad";
            traffic.answer(good, 80);
            traffic.backend().set(bad, kind.answer());
            CompletableFuture<Requests> others = traffic.load(good).from(OTHERS).send(60, calm.plus(failing));
            Thread.sleep(calm);
            traffic.load(bad).from(ONE).run(perSecond, failing);
            answered(
                    promises,
                    "the backend %s for one caller, %d/s: others".formatted(kind.does, perSecond),
                    99,
                    others.join());
        });
    }

    /** A share of one route's calls hangs, as with a dead shard. */
    private Case shard(int percent) {
        String name = "shard-" + percent;
        return new Case(name, Duration.ofSeconds(2), List.of(name), (traffic, promises) -> {
            String good = '/' + name + "/1";
            String dead = '/' + name + "/dead";
            traffic.answer(good, 20);
            traffic.backend().set(dead, Answer.NEVER);
            CompletableFuture<Requests> others = traffic.load(good).send(100 - percent, calm.plus(failing));
            Thread.sleep(calm);
            traffic.load(dead).run(percent, failing);
            answered(promises, "%d %% of a route's calls hang: the others".formatted(percent), 97, others.join());
        });
    }

    /** A backend that has never been called swallows what it gets, and heals. */
    private Case swallow() {
        return new Case(SWALLOWS, Duration.ofSeconds(20), List.of(SWALLOWS), (traffic, promises) -> {
            String path = '/' + SWALLOWS + "/1";
            traffic.backend().set(path, Answer.NEVER);
            Duration swallows = options.seconds(6, 14);
            CompletableFuture<Requests> sent = traffic.load(path).send(50, swallows.plusSeconds(8));
            Thread.sleep(swallows);
            long heals = OpenLoad.nowMillis();
            traffic.answer(path, 10);
            promises.atMost(
                    "never answered before, deadline 20 s: first answer after the heal",
                    1000,
                    sent.join().firstSuccessAfter(heals) - heals,
                    "ms");
        });
    }
}
