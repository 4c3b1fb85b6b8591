package io.weir.perf.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FailureLogTest {

    @ParameterizedTest
    @CsvSource({
        "Request 'a' failed for user 1: Request timeout to 127.0.0.1/127.0.0.1:80 after 5000 ms, timeout",
        "Request 'a' failed for user 1: i.n.c.ConnectTimeoutException: connection timed out, connect-timeout",
        "Request 'a' failed for user 1: i.n.c.AbstractChannel$AnnotatedConnectException: Connection refused, connect-failed",
        "Request 'a' failed for user 1: j.n.SocketException: Connection reset, reset",
        "Request 'a' failed for user 1: j.i.IOException: Premature close, reset",
        "Request 'a' failed for user 1: something else, failed",
        "Request 'sick: after reset' failed for user 1: something else, failed"
    })
    void classifiesTheReasonForAMissingAnswer(String message, String outcome) {
        assertThat(FailureLog.outcome(message)).isEqualTo(outcome);
    }
}
