package io.weir.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ConnectTimeoutException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class PeerReplyTest {

    private static final String ADDRESS = "10.0.0.2";

    @ParameterizedTest
    @MethodSource("failures")
    void saysWhyThereIsNoAnswerAndWhetherTheGatewayMayHaveActed(Exception failure, String problem, boolean isCertain) {
        PeerReply reply = PeerReply.failed(ADDRESS, failure, Duration.ofSeconds(2));

        assertThat(reply.problem()).isEqualTo(problem);
        assertThat(reply.isCertain()).isEqualTo(isCertain);
        assertThat(reply.isOk()).isFalse();
    }

    static Stream<Arguments> failures() {
        return Stream.of(
                Arguments.of(new ConnectTimeoutException("x"), "no connection within 1 s", true),
                Arguments.of(new ConnectException("x"), "connection refused", true),
                Arguments.of(new SSLHandshakeException("no name matches"), "TLS failed: no name matches", true),
                Arguments.of(new NoRouteToHostException("x"), "no route to it", true),
                Arguments.of(new SSLException("closed"), "no answer: closed", false),
                Arguments.of(new IOException(), "no answer: IOException", false),
                Arguments.of(new TimeoutException("x"), "no answer within 2 s", false),
                Arguments.of(new IOException("reset"), "no answer: reset", false));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            404 | {"status":404,"detail":"backend: x"} | status 404: backend: x
            401 | ''                                   | status 401
            500 | <html>                               | status 500
            302 | {"detail":7}                         | status 302
            """)
    void quotesTheDetailOfARefusal(int status, String body, String problem) {
        assertThat(PeerReply.answered(ADDRESS, status, body).problem()).isEqualTo(problem);
    }

    @Test
    void hasNoProblemIfTheGatewayTookTheRequest() {
        assertThat(PeerReply.answered(ADDRESS, 204, "").problem()).isNull();
    }

    @Test
    void cutsALongDetail() {
        String body = "{\"detail\":\"" + "x".repeat(10_000) + "\"}";

        assertThat(PeerReply.answered(ADDRESS, 400, body).problem()).hasSize("status 400: ".length() + 500);
    }
}
