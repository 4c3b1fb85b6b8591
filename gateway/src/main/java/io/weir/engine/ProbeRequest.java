package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.health.Probe;
import io.weir.instance.Instance;
import java.util.function.LongSupplier;
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
        Mono<Boolean> isGood(HttpClientResponse answer, Connection from);
    }

    /** Sends probes; a test replaces it. */
    interface Sender {

        /** Sends the probe, and reports its end to the instance's health. */
        void send(Instance instance, ProbeRequest request, Probe probe);
    }

    static final int MAX_BODY_BYTES = 64 * 1024;

    /** Sends probes over the network. */
    static Sender overNetwork(LongSupplier nanoClock) {
        return (instance, request, probe) -> new ProbeCall(instance, request, probe, nanoClock).send();
    }
}
