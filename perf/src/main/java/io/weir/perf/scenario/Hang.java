package io.weir.perf.scenario;

import io.weir.perf.scenario.OpenLoad.Ended;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** A backend hangs and heals, several times over; its neighbour is not to notice. */
final class Hang {

    private static final Duration SERVICE = Duration.ofMillis(20);
    private static final Duration MARGIN = Duration.ofMillis(800);

    private final Scenario.Options options;
    private final int rate;
    private final int neighboursRate;
    private final Duration warmUp;
    private final Duration before;
    private final Duration fault;
    private final Duration after;
    private final int rounds;
    /** While it hangs: completes when it heals. */
    private final AtomicReference<Sinks.@Nullable Empty<Void>> hanging = new AtomicReference<>();

    Hang(Scenario.Options options) {
        this.options = options;
        // Little enough, if only counts are asked for, that a busy machine does not matter.
        this.rate = options.quick() ? 100 : 300;
        this.neighboursRate = options.quick() ? 100 : 800;
        this.warmUp = Duration.ofSeconds(options.quick() ? 5 : 15);
        this.before = Duration.ofSeconds(options.quick() ? 3 : 15);
        this.fault = Duration.ofSeconds(options.quick() ? 5 : 15);
        this.after = Duration.ofSeconds(options.quick() ? 3 : 10);
        this.rounds = options.quick() ? 1 : 5;
    }

    Promises run() throws Exception {
        DisposableServer sick = backend(hanging);
        DisposableServer healthy = backend(new AtomicReference<>());
        List<String> properties = new ArrayList<>(List.of(
                "--weir.backends.mvc.bulkhead.max-concurrent-calls=20",
                "--weir.backends.reactive.bulkhead.max-concurrent-calls=64"));
        properties.addAll(options.off("mvc"));
        try (Gateway gateway = Gateway.start(options, sick.port(), healthy.port(), properties)) {
            OpenLoad load = new OpenLoad(gateway.port(), "/mvc/1");
            OpenLoad neighbours = new OpenLoad(gateway.port(), "/reactive/1");
            CompletableFuture<List<Ended>> warm = neighbours.send(neighboursRate, warmUp);
            load.send(rate, warmUp).join();
            warm.join();
            List<Round> all = new ArrayList<>();
            for (int i = 0; i < rounds; i++) {
                System.out.printf(Locale.ROOT, "hang %d of %d%n", i + 1, rounds);
                all.add(round(load, neighbours));
            }
            return promises(all);
        } finally {
            heal();
            sick.disposeNow();
            healthy.disposeNow();
        }
    }

    private record Round(
            List<Ended> neighboursBefore, List<Ended> neighboursInFault, List<Ended> inFault, List<Ended> afterwards) {

        double p99Before() {
            return OpenLoad.percentile(neighboursBefore, 99);
        }

        double p99InFault() {
            return OpenLoad.percentile(neighboursInFault, 99);
        }
    }

    private Round round(OpenLoad load, OpenLoad neighbours) throws InterruptedException {
        Duration whole = before.plus(fault).plus(after);
        long start = System.nanoTime();
        CompletableFuture<List<Ended>> theirs = neighbours.send(neighboursRate, whole);
        CompletableFuture<List<Ended>> ours = load.send(rate, whole);
        Thread.sleep(before);
        long hangs = System.nanoTime();
        hanging.set(Sinks.empty());
        Thread.sleep(fault);
        long heals = System.nanoTime();
        heal();
        List<Ended> allOurs = ours.join();
        List<Ended> allTheirs = theirs.join();
        return new Round(
                between(allTheirs, start, hangs),
                between(allTheirs, hangs, heals),
                between(allOurs, hangs, heals),
                between(allOurs, heals, Long.MAX_VALUE));
    }

    private void heal() {
        Sinks.Empty<Void> held = hanging.getAndSet(null);
        if (held != null) {
            held.tryEmitEmpty();
        }
    }

    private static List<Ended> between(List<Ended> all, long from, long to) {
        return all.stream().filter(one -> one.due() >= from && one.due() < to).toList();
    }

    private Promises promises(List<Round> all) {
        Promises promises = new Promises();
        List<Ended> theirs = all.stream()
                .flatMap(round -> round.neighboursInFault().stream())
                .toList();
        List<Ended> inFault =
                all.stream().flatMap(round -> round.inFault().stream()).toList();
        List<Ended> afterwards =
                all.stream().flatMap(round -> round.afterwards().stream()).toList();
        List<Ended> refused =
                inFault.stream().filter(one -> one.status() == 503).toList();
        promises.atLeast(
                "neighbour: answered 200 while the backend hangs",
                options.quick() ? 97 : 100,
                OpenLoad.percent(theirs, Ended::ok));
        promises.atMost(
                "offered while it hangs that wait out a deadline",
                // Those that were in flight count for more in a short fault.
                options.quick() ? 15 : 2,
                OpenLoad.percent(inFault, one -> one.tookNanos() >= MARGIN.toNanos()));
        promises.atLeast(
                "answered 200 from the heal on", options.quick() ? 85 : 97, OpenLoad.percent(afterwards, Ended::ok));
        promises.add(
                "refused while it hangs",
                "most",
                refused.size() + " of " + inFault.size(),
                refused.size() * 2 > inFault.size());
        if (!options.quick()) {
            double[] excess = all.stream()
                    .mapToDouble(round -> Math.min(
                            round.p99InFault() / round.p99Before() / 1.25, round.p99InFault() - round.p99Before()))
                    .sorted()
                    .toArray();
            Round middle = all.stream()
                    .sorted((one, other) ->
                            Double.compare(one.p99InFault() - one.p99Before(), other.p99InFault() - other.p99Before()))
                    .toList()
                    .get(all.size() / 2);
            promises.add(
                    "neighbour: p99, in the fault and before (median of " + all.size() + ")",
                    "1.25 times, or +1 ms",
                    String.format(Locale.ROOT, "%.1f ms, %.1f ms", middle.p99InFault(), middle.p99Before()),
                    excess[excess.length / 2] <= 1);
            double median = OpenLoad.percentile(refused, 50);
            promises.add(
                    "a refusal takes (median)",
                    "at most 2 ms",
                    String.format(Locale.ROOT, "%.2f ms", median),
                    median <= 2);
        }
        return promises;
    }

    private static DisposableServer backend(AtomicReference<Sinks.@Nullable Empty<Void>> hanging) {
        return HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle((request, response) -> {
                    Sinks.Empty<Void> held = hanging.get();
                    Mono<Void> waits = held == null ? Mono.delay(SERVICE).then() : held.asMono();
                    return waits.then(response.header("Content-Length", "2")
                            .sendString(Mono.just("ok"))
                            .then());
                })
                .bindNow();
    }
}
