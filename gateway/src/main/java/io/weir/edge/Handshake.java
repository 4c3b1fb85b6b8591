package io.weir.edge;

import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.ReferenceCountedOpenSslEngine;
import io.netty.handler.ssl.SslHandshakeTimeoutException;
import io.netty.internal.tcnative.SSL;
import java.nio.channels.ClosedChannelException;
import java.security.cert.CertificateException;
import java.util.Locale;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/** How the TLS handshake of a caller's connection ended. */
public enum Handshake {
    /** It agreed on new keys. */
    FULL,
    /** It resumed an earlier session. */
    RESUMED,
    /** The caller closed the connection. */
    CALLER_LEFT,
    /** The caller ended it with an alert, for instance because it does not trust the certificate. */
    ALERT,
    /** The caller's certificate is missing, or was not accepted. */
    CERTIFICATE,
    /** The caller does not speak TLS. */
    NO_TLS,
    /** It was not over when the time for the first head was. */
    TIMEOUT,
    /** No version, cipher suite or application protocol in common, or a malformed message. */
    NO_AGREEMENT;

    /** The word in metrics. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * The kind of a handshake that has succeeded.
     *
     * @param openedAtMillis the time at which its connection was accepted
     */
    static Handshake succeeded(SSLEngine engine, long openedAtMillis) {
        boolean isResumed = engine instanceof ReferenceCountedOpenSslEngine nativeEngine
                ? SSL.isSessionReused(nativeEngine.sslPointer())
                // A resumed session keeps the time of its first handshake.
                : engine.getSession().getCreationTime() < openedAtMillis;
        return isResumed ? RESUMED : FULL;
    }

    /** The kind of a handshake that has failed. */
    static Handshake failed(Throwable failure) {
        if (failure instanceof ClosedChannelException) {
            return CALLER_LEFT;
        }
        if (failure instanceof NotSslRecordException) {
            return NO_TLS;
        }
        if (failure instanceof SslHandshakeTimeoutException) {
            return TIMEOUT;
        }
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof CertificateException || isWithoutCertificate(cause.getMessage())) {
                return CERTIFICATE;
            }
        }
        String message = failure instanceof SSLHandshakeException ? failure.getMessage() : null;
        return message != null && message.toLowerCase(Locale.ROOT).contains("alert") ? ALERT : NO_AGREEMENT;
    }

    /** As the engines of the JDK and of BoringSSL say it. */
    private static boolean isWithoutCertificate(@Nullable String message) {
        return message != null
                && (message.contains("Empty client certificate chain")
                        || message.contains("PEER_DID_NOT_RETURN_A_CERTIFICATE"));
    }
}
