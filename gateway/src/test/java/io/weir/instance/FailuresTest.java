package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.codec.PrematureChannelClosureException;
import io.weir.outcome.Reason;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.channels.ClosedChannelException;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.netty.channel.AbortedException;

class FailuresTest {

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
                Arguments.of(new IllegalStateException("ours"), Reason.INTERNAL_ERROR, Reason.INTERNAL_ERROR));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void mapsEachFailureToAReason(Throwable failure, Reason before, Reason connected) {
        assertThat(Failures.reason(failure, false)).isEqualTo(before);
        assertThat(Failures.reason(failure, true)).isEqualTo(connected);
    }
}
