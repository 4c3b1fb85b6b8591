package io.weir.perf.scenario;

import io.weir.perf.scenario.OpenLoad.Ended;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
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
    private static final Duration COLD = Duration.ofSeconds(3);
    private static final Duration IN_TIME = Duration.ofSeconds(1);

    private final Scenario.Options options;
    private final Duration warmUp;
    private final Duration before;
    private final Duration overload;
    private final Duration after;

    Overload(Scenario.Options options) {
        this.options = options;
        this.warmUp = Duration.ofSeconds(options.quick() ? 2 : 10);
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
            System.out.println("overload");
            Load load = load(gateway.port(), backend.port());
            Promises promises = new Promises();
            double promised = options.quick() ? 60 : 98;
            if (!options.quick() && HaProxy.installed()) {
                System.out.println("the same through HAProxy");
                double haProxy = throughHaProxy(backend.port());
                promised = Math.min(promised, haProxy - 1);
                promises.add(
                        "(HAProxy with the same limits, on this machine now)",
                        "",
                        String.format(Locale.ROOT, "%.2f %%", haProxy),
                        true);
            }
            promises.atLeast(
                    "in the overload: answered 200 within 1 s, of what the backend can do",
                    promised,
                    ofCapacity(load.overload()));
            promises.atLeast(
                    "after it: answered 200", options.quick() ? 85 : 99.5, OpenLoad.percent(load.after(), Ended::ok));
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

    private double throughHaProxy(int backendPort) throws Exception {
        try (HaProxy haProxy = HaProxy.start(backendPort, WORKERS)) {
            return ofCapacity(load(haProxy.port(), backendPort).overload());
        }
    }

    /** What became of the requests in the overload, and of those after it. */
    private record Load(List<Ended> overload, List<Ended> after) {}

    /** The gateway and HAProxy alike, so that neither has callers and a backend who are warmer. */
    private Load load(int port, int backendPort) {
        // By itself first: to a breaker the first calls of a cold JVM are slow ones, and rightly so.
        new OpenLoad(backendPort, "/").send(RATE, COLD).join();
        OpenLoad load = new OpenLoad(port, "/mvc/1");
        load.send(RATE, warmUp).join();
        load.send(OVERLOAD, warmUp).join();
        load.send(RATE, before).join();
        List<Ended> much = load.send(OVERLOAD, overload).join();
        // The next phase is the same load again: what is left of the overload is in its way.
        return new Load(much, load.send(RATE, after).join());
    }

    /** Those answered 200 in time, in percent of what the backend can do. */
    private double ofCapacity(List<Ended> much) {
        return 100
                * much.stream()
                        .filter(one -> one.ok() && one.tookNanos() <= IN_TIME.toNanos())
                        .count()
                / (CAPACITY * overload.toSeconds());
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
