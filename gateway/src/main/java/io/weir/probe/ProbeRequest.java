package io.weir.probe;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.health.Health;
import io.weir.health.Probe;
import io.weir.instance.Instance;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.Connection;
import reactor.netty.http.client.HttpClientResponse;

/**
 * A request that the gateway sends by itself to find out whether a backend has recovered, or whether an
 * instance is healthy. The answer's head decides. Its body is read, so that the connection can be reused, and
 * cut after {@value #MAX_BODY_BYTES} bytes.
 *
 * @param method the method; a request with a body sends {@code body}
 * @param target path and query
 * @param head the request's head, {@code Host} included
 * @param body the body, which is never released; empty: none
 * @param rule decides whether an answer is good
 */
public record ProbeRequest(HttpMethod method, String target, HttpHeaders head, ByteBuf body, Rule rule) {

    /** Decides whether an answer is good. */
    public interface Rule {

        /**
         * Judges an answer.
         *
         * @return the answer's quality; empty or an error: not good
         */
        Mono<Boolean> isGood(HttpClientResponse answer, Connection from);

        /** What is wrong with an answer that is not good, such as {@code answered 503}. */
        default String whyBad(HttpClientResponse answer) {
            return "answered " + answer.status().code();
        }
    }

    /** Receives the end of a request. Only the first call counts. */
    public interface Outcome {

        /** The answer is good. */
        void good();

        /** The answer asks the gateway to stay away for this time. {@link #bad} follows. */
        default void pushedBack(long nanos) {}

        /** The answer is not good. */
        void bad(String why);

        /** There is no answer. */
        void failed(Throwable failure);
    }

    /** Sends probes; a test replaces it. */
    public interface Sender {

        /** Sends the probe, and reports its end to the instance's health. */
        void send(Instance instance, ProbeRequest request, Probe probe);
    }

    /** Sends health checks; a test replaces it. */
    public interface CheckSender {

        /**
         * Sends a health check.
         *
         * @return gives the request up, if it has not ended; from any thread
         */
        Runnable send(Instance instance, ProbeRequest request, Outcome outcome);
    }

    static final int MAX_BODY_BYTES = 64 * 1024;

    /** Sends probes over the network, and gives each up after its time. */
    public static Sender overNetwork(LongSupplier nanoClock) {
        return (instance, request, probe) -> {
            Health health = instance.health();
            ProbeCall call = new ProbeCall(instance, request, new ProbeOutcome(health, probe, nanoClock));
            Disposable timeout = Schedulers.parallel()
                    .schedule(
                            () -> {
                                probe.failed();
                                call.giveUp();
                            },
                            probe.patienceNanos(),
                            TimeUnit.NANOSECONDS);
            call.send(timeout::dispose);
        };
    }

    /** The end of a probe. */
    private record ProbeOutcome(Health health, Probe probe, LongSupplier nanoClock) implements Outcome {

        @Override
        public void good() {
            probe.answered(nanoClock.getAsLong());
        }

        @Override
        public void pushedBack(long nanos) {
            probe.pushedBack(nanos, nanoClock.getAsLong());
        }

        @Override
        public void bad(String why) {
            probe.failed();
        }

        @Override
        public void failed(Throwable failure) {
            probe.failed();
        }
    }
}
