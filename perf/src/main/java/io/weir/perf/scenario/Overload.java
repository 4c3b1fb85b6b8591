package io.weir.perf.scenario;

import io.weir.perf.scenario.OpenLoad.Ended;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/**
 * A backend that can do 200 requests a second and takes all that come, those too whose callers have long left, gets four times as many for a while: it is to do what it
 * can meanwhile, and to be well at once afterwards.
 */
final class Overload {

    private static final int WORKERS = 10;
    private static final Duration SERVICE = Duration.ofMillis(50);
    private static final double CAPACITY = 200;
    private static final int RATE = 150;
    private static final int OVERLOAD = 800;
    private static final Duration IN_TIME = Duration.ofSeconds(1);

    private final Scenario.Options options;
    private final Duration before;
    private final Duration overload;
    private final Duration after;

    Overload(Scenario.Options options) {
        this.options = options;
        this.before = Duration.ofSeconds(options.quick() ? 4 : 10);
        this.overload = Duration.ofSeconds(options.quick() ? 6 : 15);
        this.after = Duration.ofSeconds(options.quick() ? 4 : 10);
    }

    Promises run() throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
        DisposableServer backend = backend(Schedulers.fromExecutorService(workers));
        List<String> properties =
                new ArrayList<>(List.of("--weir.backends.mvc.bulkhead.max-concurrent-calls=" + WORKERS));
        properties.addAll(options.off("mvc"));
        try (Gateway gateway = Gateway.start(options, backend.port(), backend.port(), properties)) {
            OpenLoad load = new OpenLoad(gateway.port(), "/mvc/1");
            load.send(RATE, before).join();
            System.out.println("overload");
            List<Ended> much = load.send(OVERLOAD, overload).join();
            // The next phase is the same load again: what is left of the overload is in its way.
            List<Ended> again = load.send(RATE, after).join();
            Promises promises = new Promises();
            promises.atLeast(
                    "in the overload: answered 200 within 1 s, of what the backend can do",
                    options.quick() ? 60 : 98,
                    100
                            * much.stream()
                                    .filter(one -> one.ok() && one.tookNanos() <= IN_TIME.toNanos())
                                    .count()
                            / (CAPACITY * overload.toSeconds()));
            promises.atLeast("after it: answered 200", options.quick() ? 85 : 99.5, OpenLoad.percent(again, Ended::ok));
            double open = gateway.metric("weir_requests_seconds_count", "outcome=\"circuit-open\"")
                    + gateway.metric("weir_breaker_state", "backend=\"mvc\"", "state=\"open\"");
            promises.add("a full bulkhead opens no breaker", "0 refused", String.valueOf((long) open), open == 0);
            return promises;
        } finally {
            backend.disposeNow();
            workers.shutdownNow();
            workers.awaitTermination(10, TimeUnit.SECONDS);
        }
    }

    private static DisposableServer backend(Scheduler workers) {
        return HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle((request, response) -> Mono.fromCallable(() -> {
                            Thread.sleep(SERVICE);
                            return "ok";
                        })
                        .subscribeOn(workers)
                        .flatMap(done -> response.header("Content-Length", "2")
                                .sendString(Mono.just(done))
                                .then()))
                .bindNow();
    }
}
