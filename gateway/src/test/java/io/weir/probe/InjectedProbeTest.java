package io.weir.probe;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.faults.ActiveFaults;
import io.weir.faults.FaultOrder;
import io.weir.faults.FaultScope;
import io.weir.faults.FaultType;
import io.weir.faults.InjectedFault;
import io.weir.instance.Instance;
import io.weir.testing.TestHealth;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

/** Health checks get the faults of their backend. Shadow probes: {@code InjectedAttemptTest}. */
class InjectedProbeTest implements ProbeRequest.Outcome {

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Instance instance = new Instance(
            URI.create("http://orders:8080"),
            HealthCheckerTest.POOL,
            TestHealth.of(TestHealth.settings(Duration.ofSeconds(1), 20, Duration.ofMillis(100)), this::now));
    private final List<String> results = new ArrayList<>();
    private @Nullable ActiveFaults active;
    private int sent;
    private int givenUp;

    private final ProbeRequest.CheckSender checks = InjectedProbe.checks(
            (checked, request, outcome) -> {
                sent++;
                return () -> givenUp++;
            },
            () -> active,
            "orders",
            status -> status == 418,
            channel.eventLoop(),
            this::now);

    InjectedProbeTest() {
        channel.freezeTime();
    }

    private long now() {
        return channel.eventLoop().ticker().nanoTime();
    }

    private void advance(Duration time) {
        channel.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
        channel.runScheduledPendingTasks();
    }

    @Override
    public void good() {
        results.add("good");
    }

    @Override
    public void bad(String why) {
        results.add(why);
    }

    @Override
    public void failed(Throwable failure) {
        results.add(failure.getMessage());
    }

    private Runnable send(FaultScope scope, FaultType type, @Nullable Duration latency, int status) {
        FaultOrder order = new FaultOrder(scope, type, 100, null, null, latency, status, 0, Duration.ofMinutes(1));
        InjectedFault fault = new InjectedFault(
                1, order, "alice", Instant.EPOCH, now() + Duration.ofMinutes(1).toNanos());
        active = new ActiveFaults(List.of(fault), () -> 0);
        return send();
    }

    private Runnable send() {
        return checks.send(
                instance,
                new ProbeRequest(
                        HttpMethod.GET,
                        "/up",
                        new DefaultHttpHeaders(),
                        Unpooled.EMPTY_BUFFER,
                        (answer, from) -> Mono.just(true)),
                this);
    }

    private static FaultScope orders() {
        return new FaultScope(null, "orders", null);
    }

    @Test
    void sendsChecksThatNoFaultConcerns() {
        send();
        assertThat(sent).isOne();
        send(new FaultScope(null, "search", null), FaultType.HANG, null, 0);
        send(new FaultScope("orders", null, null), FaultType.HANG, null, 0);
        send(orders(), FaultType.TRUNCATE, null, 0);
        assertThat(sent).as("another backend, a route, a body").isEqualTo(4);
    }

    @ParameterizedTest
    @CsvSource({
        "ABORT, 503, answered 503 by injected fault 1 (abort)",
        "ABORT, 418, good",
        "RESET, 0, connection reset by injected fault 1 (reset)"
    })
    void answersInPlaceOfTheBackend(FaultType type, int status, String result) {
        send(orders(), type, null, status);

        assertThat(sent).isZero();
        assertThat(results).containsExactly(result);
    }

    @Test
    void leavesACheckThatHangsToItsTimeout() {
        Runnable giveUp = send(orders(), FaultType.HANG, null, 0);
        advance(Duration.ofMinutes(1));
        giveUp.run();

        assertThat(sent).isZero();
        assertThat(results).isEmpty();
    }

    @Test
    void sendsACheckAfterItsLatencyUnlessItIsGivenUp() {
        Runnable giveUp = send(orders(), FaultType.LATENCY, Duration.ofMillis(300), 0);
        assertThat(sent).isZero();
        advance(Duration.ofMillis(300));
        assertThat(sent).isOne();
        giveUp.run();
        assertThat(givenUp).isOne();

        send(orders(), FaultType.LATENCY, Duration.ofMillis(300), 0).run();
        advance(Duration.ofMillis(300));
        assertThat(sent).isOne();
    }
}
