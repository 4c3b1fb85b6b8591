package io.weir.door;

import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.AttributeKey;
import io.weir.authentication.ClientCertificate;
import java.security.cert.CertificateEncodingException;
import java.util.Optional;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;

/**
 * The certificate that a caller has shown on its connection; read and encoded at the connection's first
 * request that needs it.
 */
final class ConnectionCertificate {

    private static final AttributeKey<@Nullable Optional<ClientCertificate>> CERTIFICATE =
            AttributeKey.valueOf(ConnectionCertificate.class, "certificate");

    private ConnectionCertificate() {}

    /** The certificate of a request's connection, which the edge trusts; null: none was shown. */
    static @Nullable ClientCertificate of(Channel channel) {
        Channel connection = channel instanceof Http2StreamChannel ? channel.parent() : channel;
        Optional<ClientCertificate> known = connection.attr(CERTIFICATE).get();
        if (known == null) {
            known = Optional.ofNullable(read(connection));
            connection.attr(CERTIFICATE).set(known);
        }
        return known.orElse(null);
    }

    private static @Nullable ClientCertificate read(Channel connection) {
        SslHandler tls = connection.pipeline().get(SslHandler.class);
        if (tls == null) {
            return null;
        }
        try {
            return ClientCertificate.of(tls.engine().getSession().getPeerCertificates());
        } catch (SSLPeerUnverifiedException e) {
            return null;
        } catch (CertificateEncodingException e) {
            throw new IllegalStateException("a certificate of a handshake cannot be encoded", e);
        }
    }
}
