package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.health.Health;
import io.weir.health.Probe;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;
import reactor.netty.http.client.HttpClientResponse;

/**
 * A request that the gateway sends by itself to find out whether a backend has recovered. The answer's head
 * decides. Its body is read, so that the connection can be reused, and cut after {@value #MAX_BODY_BYTES}
 * bytes.
 *
 * @param method the method; a request with a body sends {@code body}
 * @param target path and query
 * @param head the request's head, {@code Host} included
 * @param body the body, which is never released; empty: none
 * @param rule decides whether an answer is good
 */
record ProbeRequest(HttpMethod method, String target, HttpHeaders head, ByteBuf body, Rule rule) {

    /** Decides whether an answer is good. */
    interface Rule {

        /**
         * Judges an answer.
         *
         * @return the answer's quality; empty or an error: not good
         */
        Mono<Boolean> isGood(int status, Connection from);
    }

    /** Sends probes; a test replaces it. */
    interface Sender {

        /** Sends the probe, and reports its end to the backend's health. */
        void send(Backend backend, ProbeRequest request, Probe probe);
    }

    static final int MAX_BODY_BYTES = 64 * 1024;

    /** Sends probes over the network. */
    static Sender overNetwork(LongSupplier nanoClock) {
        return (backend, request, probe) -> request.send(backend, probe, nanoClock);
    }

    private void send(Backend backend, Probe probe, LongSupplier nanoClock) {
        Health health = backend.health();
        backend.pool()
                .client()
                .request(method)
                .uri(target)
                .send((toBackend, out) -> {
                    toBackend.requestHeaders().set(head);
                    return body.isReadable() ? out.sendObject(body.duplicate()) : out;
                })
                .responseConnection((answer, from) -> judged(answer, from, health, probe, nanoClock))
                .then()
                .timeout(Duration.ofNanos(probe.patienceNanos()))
                .subscribe(nothing -> {}, failure -> health.probeFailed(probe), () -> health.probeFailed(probe));
    }

    /**
     * Completes when the answer is read or cut. A probe with a good answer ends earlier, with the answer's
     * head.
     */
    private Publisher<Void> judged(
            HttpClientResponse answer, Connection from, Health health, Probe probe, LongSupplier nanoClock) {
        return rule.isGood(answer.status().code(), from).flatMap(good -> {
            if (good) {
                health.probeAnswered(probe, nanoClock.getAsLong());
            } else {
                health.probeFailed(probe);
            }
            return discarded(from);
        });
    }

    /** Cancelling the body closes the connection. */
    private static Mono<Void> discarded(Connection from) {
        AtomicInteger left = new AtomicInteger(MAX_BODY_BYTES);
        return from.inbound()
                .receive()
                .map(ByteBuf::readableBytes)
                .takeUntil(bytes -> left.addAndGet(-bytes) < 0)
                .then();
    }
}
