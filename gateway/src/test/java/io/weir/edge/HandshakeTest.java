package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.SslHandshakeTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.security.cert.CertificateException;
import java.util.stream.Stream;
import javax.crypto.AEADBadTagException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class HandshakeTest {

    private static SSLException of(String message, Throwable cause) {
        SSLException failure = new SSLHandshakeException(message);
        failure.initCause(cause);
        return failure;
    }

    static Stream<Arguments> failures() {
        return Stream.of(
                Arguments.of(new ClosedChannelException(), Handshake.CALLER_LEFT),
                Arguments.of(new NotSslRecordException("GET / HTTP/1.1"), Handshake.NO_TLS),
                Arguments.of(new SslHandshakeTimeoutException("after 10 s"), Handshake.TIMEOUT),
                Arguments.of(
                        of("General OpenSslEngine problem", new CertificateException("old")), Handshake.CERTIFICATE),
                Arguments.of(of("PKIX path validation failed", new CertificateException("old")), Handshake.CERTIFICATE),
                Arguments.of(new SSLHandshakeException("Empty client certificate chain"), Handshake.CERTIFICATE),
                Arguments.of(new SSLHandshakeException("Received fatal alert: unknown_ca"), Handshake.ALERT),
                Arguments.of(
                        new SSLHandshakeException(
                                "error:10000418:SSL routines:OPENSSL_internal:TLSV1_ALERT_UNKNOWN_CA"),
                        Handshake.ALERT),
                Arguments.of(new SSLHandshakeException("no cipher suites in common"), Handshake.NO_AGREEMENT),
                Arguments.of(of("bad record", new AEADBadTagException("tag")), Handshake.NO_AGREEMENT));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void namesTheCauseOfAFailure(Throwable failure, Handshake kind) {
        assertThat(Handshake.failed(failure)).isEqualTo(kind);
    }
}
