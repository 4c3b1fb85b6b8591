package io.weir.perf.scenario;

import java.time.Duration;
import java.util.function.Function;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/** A backend's service that can hang. Requests that come meanwhile stay unanswered, also after the heal. */
final class SwallowingService implements Function<HttpServerRequest, Mono<Void>> {

    private final Duration serviceTime;
    private volatile boolean hangs;

    SwallowingService(Duration serviceTime) {
        this.serviceTime = serviceTime;
    }

    void hang() {
        hangs = true;
    }

    void heal() {
        hangs = false;
    }

    @Override
    public Mono<Void> apply(HttpServerRequest request) {
        return hangs ? Mono.never() : Mono.delay(serviceTime).then();
    }
}
