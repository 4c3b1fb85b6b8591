package io.weir.perf.run;

import io.netty.buffer.Unpooled;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

/**
 * The load client of measurements in this process: requests at a fixed rate, independent of the answers. A
 * latency counts from the time when the request was due, so that a stall of the client is part of it.
 *
 * @param numbered adds to the client what depends on the number of the request, from 0 on
 * @param paths requested in turn; they name the requests
 * @param timeout an answer that comes later fails
 * @param answerBytes a shorter answer fails
 * @param retries a failed request is repeated at once, at most that many times, until it succeeds
 * @param recorded whether the requests are rows of an experiment
 */
public record OpenLoad(
        HttpClient client,
        BiFunction<HttpClient, Integer, HttpClient> numbered,
        List<String> paths,
        Duration timeout,
        int answerBytes,
        int retries,
        boolean recorded) {

    private static final long ORIGIN = System.nanoTime();
    private static final long COLD_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final LongAccumulator LATEST_NANOS = new LongAccumulator(Math::max, 0);
    /** The requests by the milliseconds of their delay; the last element counts all longer ones. */
    private static final AtomicLongArray DELAYS = new AtomicLongArray(1001);

    private static volatile Consumer<Request> recorder = request -> {};

    /** A load on a server of this machine, without retries. */
    public OpenLoad(int port, List<String> paths, int connections, Duration timeout, int answerBytes) {
        this(
                HttpClient.create(ConnectionProvider.builder("load")
                                .maxConnections(connections)
                                .pendingAcquireMaxCount(-1)
                                .build())
                        .baseUrl("http://127.0.0.1:" + port),
                (same, request) -> same,
                paths,
                timeout,
                answerBytes,
                0,
                true);
    }

    public OpenLoad withHeader(String name, String value) {
        HttpClient with = client.headers(headers -> headers.set(name, value));
        return new OpenLoad(with, numbered, paths, timeout, answerBytes, retries, recorded);
    }

    /** The same load with a field whose value depends on the number of the request, from 0 on. */
    public OpenLoad withHeaders(String name, IntFunction<String> value) {
        BiFunction<HttpClient, Integer, HttpClient> with =
                (same, request) -> same.headers(headers -> headers.set(name, value.apply(request)));
        return new OpenLoad(client, with, paths, timeout, answerBytes, retries, recorded);
    }

    /** The same load, from addresses of this machine in turn. */
    public OpenLoad from(List<String> addresses) {
        BiFunction<HttpClient, Integer, HttpClient> with = (same, request) ->
                same.bindAddress(() -> new InetSocketAddress(addresses.get(request % addresses.size()), 0));
        return new OpenLoad(client, with, paths, timeout, answerBytes, retries, recorded);
    }

    /** The same load; its requests are no rows of an experiment. */
    public OpenLoad unrecorded() {
        return new OpenLoad(client, numbered, paths, timeout, answerBytes, retries, false);
    }

    /** The same load on a server of this machine; each request opens a connection. */
    public OpenLoad withNewConnections(int port) {
        HttpClient with = HttpClient.newConnection().baseUrl("http://127.0.0.1:" + port);
        return new OpenLoad(with, numbered, paths, timeout, answerBytes, retries, recorded);
    }

    /** Closes the connections of this load, which the server would keep for a while. */
    public void closeConnections() {
        client.configuration().connectionProvider().dispose();
    }

    public OpenLoad withRetries(int count) {
        return new OpenLoad(client, numbered, paths, timeout, answerBytes, count, recorded);
    }

    /**
     * How late a request of any load was sent at most, except in the first seconds, while this JVM is cold.
     */
    public static long latestMillis() {
        return TimeUnit.NANOSECONDS.toMillis(LATEST_NANOS.get());
    }

    /**
     * How late 99 % of the requests of all loads were sent at most, except in the first seconds; one second
     * if it was longer. NaN if there was no request: that of another load client is not known.
     */
    static double delayP99Millis() {
        long total = IntStream.range(0, DELAYS.length()).mapToLong(DELAYS::get).sum();
        if (total == 0) {
            return Double.NaN;
        }
        long inTime = 0;
        for (int millis = 0; millis < DELAYS.length(); millis++) {
            inTime += DELAYS.get(millis);
            if (100 * inTime >= 99 * total) {
                return millis;
            }
        }
        return DELAYS.length() - 1.0;
    }

    /** Passes each completed request of all loads to a recorder, from any thread. */
    static void recordTo(Consumer<Request> requests) {
        recorder = requests;
    }

    /** Passes on the requests of another load client, whose times are milliseconds since 1970. */
    public static void record(Requests others) {
        long offset = nowMillis() - System.currentTimeMillis();
        others.forEach(request -> recorder.accept(request.later(offset)));
    }

    /** The time that {@link Request#atMillis} of these loads counts in. */
    public static long nowMillis() {
        return millis(System.nanoTime());
    }

    private static long millis(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(nanos - ORIGIN);
    }

    public static Requests join(List<CompletableFuture<Requests>> sent) {
        return Requests.of(sent.stream().map(CompletableFuture::join).toList());
    }

    public Requests run(int perSecond, Duration time) {
        return send(perSecond, time).join();
    }

    public CompletableFuture<Requests> burst(int count) {
        return send(1000 * count, Duration.ofMillis(1));
    }

    /** Sends on a thread of its own; the result is complete when all requests are. */
    public CompletableFuture<Requests> send(int perSecond, Duration time) {
        CompletableFuture<Requests> result = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("load").start(() -> {
            int count = Math.toIntExact(perSecond * time.toMillis() / 1000);
            List<CompletableFuture<Request>> sent = new ArrayList<>(count);
            long start = System.nanoTime();
            for (int i = 0; i < count; i++) {
                long due = start + i * (TimeUnit.SECONDS.toNanos(1) / perSecond);
                for (long early = due - System.nanoTime(); early > 0; early = due - System.nanoTime()) {
                    LockSupport.parkNanos(early);
                }
                if (due - ORIGIN > COLD_NANOS) {
                    long delay = System.nanoTime() - due;
                    LATEST_NANOS.accumulate(delay);
                    long millis = TimeUnit.NANOSECONDS.toMillis(delay);
                    DELAYS.incrementAndGet(Math.clamp(millis, 0, DELAYS.length() - 1));
                }
                sent.add(send(numbered.apply(client, i), due, paths.get(i % paths.size()))
                        .toFuture());
            }
            result.complete(
                    new Requests(sent.stream().map(CompletableFuture::join).toList()));
        });
        return result;
    }

    private Mono<Request> send(HttpClient from, long due, String path) {
        return from.get()
                .uri(path)
                .responseSingle((head, body) -> body.defaultIfEmpty(Unpooled.EMPTY_BUFFER)
                        .map(bytes -> outcome(
                                head.status().code(),
                                head.responseHeaders().get("Proxy-Status", ""),
                                bytes.readableBytes())))
                .timeout(timeout)
                .onErrorResume(e -> Mono.just(e instanceof TimeoutException ? "timeout" : "reset"))
                .repeat(retries)
                .takeUntil(Request.SUCCESS::equals)
                .last()
                .map(outcome -> new Request("", millis(due), (System.nanoTime() - due) / 1000, path, outcome))
                .doOnNext(request -> {
                    if (recorded) {
                        recorder.accept(request);
                    }
                });
    }

    private String outcome(int status, String proxyStatus, int bytes) {
        if (status == 200) {
            return bytes == answerBytes ? Request.SUCCESS : "truncated";
        }
        int at = proxyStatus.indexOf("details=\"");
        return at < 0 ? "status-" + status : proxyStatus.substring(at + 9, proxyStatus.indexOf('"', at + 9));
    }
}
