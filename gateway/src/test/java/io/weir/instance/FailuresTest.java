package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ChannelException;
import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.codec.PrematureChannelClosureException;
import io.weir.outcome.Reason;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.netty.channel.AbortedException;
import reactor.netty.internal.shaded.reactor.pool.PoolAcquirePendingLimitException;
import reactor.netty.internal.shaded.reactor.pool.PoolAcquireTimeoutException;

class FailuresTest {

    /** As Netty wraps the error of NIO's socket channel. */
    private static Throwable tooManyFiles() {
        return new ChannelException("Failed to open a socket.", new SocketException("Too many open files"));
    }

    /** As the epoll transport reports it. */
    private static Throwable noPort() {
        return new ConnectException(
                "connect(..) failed with error(-99): Cannot assign requested address: /10.0.0.1:80");
    }

    static Stream<Arguments> failures() {
        return Stream.of(
                Arguments.of(new ConnectException("refused"), Reason.CONNECT_FAILED, Reason.CONNECTION_LOST),
                Arguments.of(new ConnectTimeoutException("late"), Reason.CONNECT_TIMEOUT, Reason.CONNECTION_LOST),
                Arguments.of(new IOException("reset"), Reason.CONNECT_FAILED, Reason.CONNECTION_LOST),
                Arguments.of(new PrematureChannelClosureException(), Reason.CONNECT_FAILED, Reason.CONNECTION_LOST),
                // Reactor Netty's exception for a connection that was closed before the request or while its
                // body was written.
                Arguments.of(AbortedException.beforeSend(), Reason.CONNECT_FAILED, Reason.CONNECTION_LOST),
                Arguments.of(
                        new AbortedException(new ClosedChannelException()),
                        Reason.CONNECT_FAILED,
                        Reason.CONNECTION_LOST),
                Arguments.of(new PoolAcquirePendingLimitException(16), Reason.BULKHEAD_FULL, Reason.BULKHEAD_FULL),
                Arguments.of(
                        new PoolAcquireTimeoutException(Duration.ofMillis(1)),
                        Reason.BULKHEAD_FULL,
                        Reason.BULKHEAD_FULL),
                Arguments.of(tooManyFiles(), Reason.GATEWAY_OVERLOADED, Reason.GATEWAY_OVERLOADED),
                Arguments.of(noPort(), Reason.GATEWAY_OVERLOADED, Reason.GATEWAY_OVERLOADED),
                Arguments.of(new IllegalStateException("ours"), Reason.INTERNAL_ERROR, Reason.INTERNAL_ERROR));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void mapsEachFailureToAReason(Throwable failure, Reason before, Reason connected) {
        assertThat(Failures.reason(failure, false)).isEqualTo(before);
        assertThat(Failures.reason(failure, true)).isEqualTo(connected);
    }

    /** As Reactor Netty reports a GOAWAY that arrives after its pool has chosen the connection. */
    @Test
    void aConnectionWithoutAStreamHasSentNothingAndIsNoEvidence() {
        Throwable failure = new IOException("Error while acquiring from Http2Pool@1. Max active streams is reached.");

        assertThat(Failures.isUnsent(failure)).isTrue();
        assertThat(Failures.isOrderly(failure)).isTrue();
        assertThat(Failures.isOrderly(new IOException("reset"))).isFalse();
        assertThat(Failures.isOrderly(new IOException())).isFalse();
    }

    @Test
    void isLocalOnlyIfTheGatewayItselfIsShortOfSomething() {
        assertThat(Failures.isLocal(tooManyFiles())).isTrue();
        assertThat(Failures.isLocal(noPort())).isTrue();
        assertThat(Failures.isLocal(new PoolAcquirePendingLimitException(16))).isTrue();
        assertThat(Failures.isLocal(new PoolAcquireTimeoutException(Duration.ofMillis(1))))
                .isTrue();
        assertThat(Failures.isLocal(new ConnectException("Connection refused"))).isFalse();
        assertThat(Failures.isLocal(new ConnectTimeoutException("late"))).isFalse();
        assertThat(Failures.isLocal(new IOException("Connection reset by peer")))
                .isFalse();
        assertThat(Failures.isLocal(new IllegalStateException("Too many open files")))
                .as("a text of another part")
                .isFalse();
    }

    @Test
    void namesTheShortageWithoutTheAddress() {
        assertThat(Failures.describe(noPort()))
                .isEqualTo("the gateway is short of files, ports or memory: Cannot assign requested address");
    }

    @Test
    void isUnsentOnlyIfTheConnectionWasRefusedOrClosedBeforeTheRequest() {
        assertThat(Failures.isUnsent(new ConnectException("Connection refused")))
                .isTrue();
        assertThat(Failures.isUnsent(AbortedException.beforeSend())).isTrue();
        assertThat(Failures.isUnsent(new AbortedException(new ClosedChannelException())))
                .isFalse();
        assertThat(Failures.isUnsent(new IOException("Connection reset by peer")))
                .isFalse();
        assertThat(Failures.isUnsent(new ConnectTimeoutException("late"))).isFalse();
        assertThat(Failures.isUnsent(noPort())).isFalse();
    }
}
