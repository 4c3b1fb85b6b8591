package io.weir.perf.scenario;

import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

/** Requests at a fixed rate, whatever becomes of those before. */
final class OpenLoad {

    /** No answer within this counts as none. */
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /**
     * What became of a request.
     *
     * @param due when it should have been sent
     * @param tookNanos from then to the end of its answer
     * @param status 0: none
     * @param reason the gateway's own; empty: it is the backend's answer, or there is none
     */
    record Ended(long due, long tookNanos, int status, String reason) {

        boolean ok() {
            return status == 200;
        }
    }

    private final HttpClient client;
    private final String path;

    OpenLoad(int port, String path) {
        this.client = HttpClient.create(ConnectionProvider.builder("load")
                        .maxConnections(20_000)
                        .build())
                .baseUrl("http://127.0.0.1:" + port);
        this.path = path;
    }

    /** Sends on a thread of its own; complete when all have ended. */
    CompletableFuture<List<Ended>> send(int perSecond, Duration time) {
        CompletableFuture<List<Ended>> all = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("load" + path).start(() -> {
            int requests = Math.toIntExact(perSecond * time.toMillis() / 1000);
            ConcurrentLinkedQueue<Ended> ended = new ConcurrentLinkedQueue<>();
            AtomicInteger left = new AtomicInteger(requests);
            long start = System.nanoTime();
            long interval = TimeUnit.SECONDS.toNanos(1) / perSecond;
            for (int i = 0; i < requests; i++) {
                long due = start + i * interval;
                for (long early = due - System.nanoTime(); early > 0; early = due - System.nanoTime()) {
                    LockSupport.parkNanos(early);
                }
                sendOne(due, ended, left, all);
            }
        });
        return all;
    }

    private void sendOne(
            long due, ConcurrentLinkedQueue<Ended> ended, AtomicInteger left, CompletableFuture<List<Ended>> all) {
        client.get()
                .uri(path)
                .responseSingle((head, body) -> body.defaultIfEmpty(Unpooled.EMPTY_BUFFER)
                        .map(bytes -> new Ended(
                                due,
                                System.nanoTime() - due,
                                head.status().code(),
                                reason(head.responseHeaders().get("Proxy-Status", "")))))
                .timeout(PATIENCE)
                .onErrorResume(
                        failure -> reactor.core.publisher.Mono.just(new Ended(due, System.nanoTime() - due, 0, "")))
                .subscribe(one -> {
                    ended.add(one);
                    if (left.decrementAndGet() == 0) {
                        all.complete(new ArrayList<>(ended));
                    }
                });
    }

    private static String reason(String proxyStatus) {
        int at = proxyStatus.indexOf("details=\"");
        return at < 0 ? "" : proxyStatus.substring(at + 9, proxyStatus.indexOf('"', at + 9));
    }

    /** The share, in percent. */
    static double percent(List<Ended> of, Predicate<Ended> which) {
        return of.isEmpty() ? 0 : 100.0 * of.stream().filter(which).count() / of.size();
    }

    /** Milliseconds. */
    static double percentile(List<Ended> of, double percent) {
        long[] sorted = of.stream().mapToLong(Ended::tookNanos).sorted().toArray();
        return sorted.length == 0
                ? 0
                : sorted[(int) Math.min(sorted.length - 1L, (long) (sorted.length * percent / 100))] / 1e6;
    }
}
