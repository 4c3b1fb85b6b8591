package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.AttributeKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The hosts with certificates of their own, chosen by the name that a TLS handshake asks for (SNI). Finds
 * requests whose connection was opened for another host (RFC 9110, 15.5.20).
 *
 * <p>A request is misdirected if its host is another one than the name of the handshake, if the gateway would
 * show another certificate for that host, and if the connection's certificate does not cover it. Clients may
 * use one connection for all hosts of its certificate (RFC 9113, 9.1.1), so such a request passes.
 *
 * <p>A handshake without a name contradicts no host: health checks and old clients ask by address.
 *
 * <p>Concurrency: the hosts are immutable. The last verdict of a connection is confined to its event loop.
 */
public final class VirtualHosts {

    private static final AttributeKey<@Nullable RequestedName> NAME =
            AttributeKey.valueOf(VirtualHosts.class, "requestedName");

    private static final int DNS_NAME = 2;
    private static final int IP_ADDRESS = 7;

    /** The name that a handshake has asked for, and the last verdict about another host. */
    private static final class RequestedName {

        private final String name;
        private @Nullable String lastHost;
        private boolean isLastMisdirected;

        RequestedName(String name) {
            this.name = name;
        }
    }

    private final Map<String, String> bundles;
    private final String defaultBundle;

    /**
     * The hosts of a server.
     *
     * @param bundles the name of the certificate's bundle, by the host's name in lower case
     * @param defaultBundle the bundle of all other hosts; empty: the server's certificate has no bundle
     */
    public VirtualHosts(Map<String, String> bundles, String defaultBundle) {
        this.bundles = Map.copyOf(bundles);
        this.defaultBundle = defaultBundle;
    }

    /** Records the name that the handshake of a connection has asked for. */
    static void requested(Channel connection, String name) {
        connection.attr(NAME).set(new RequestedName(name));
    }

    /**
     * Whether a request's connection was opened for a host with another certificate.
     *
     * @param channel the request's connection, or its HTTP/2 stream
     * @param authority the host that the request asks for, and perhaps a port; null: none
     */
    public boolean isMisdirected(Channel channel, @Nullable String authority) {
        Channel connection = channel instanceof Http2StreamChannel ? channel.parent() : channel;
        RequestedName requested = connection.attr(NAME).get();
        if (requested == null || authority == null || authority.equalsIgnoreCase(requested.name)) {
            return false;
        }
        String host = normalise(Authority.host(authority));
        if (!host.equals(requested.lastHost)) {
            requested.isLastMisdirected = !host.equals(requested.name)
                    && !bundle(host).equals(bundle(requested.name))
                    && !covers(certificate(connection), host);
            requested.lastHost = host;
        }
        return requested.isLastMisdirected;
    }

    private String bundle(String host) {
        return bundles.getOrDefault(host, defaultBundle);
    }

    /** A host in lower case, without the dot of a fully qualified name, and without an address's brackets. */
    private static String normalise(String host) {
        String lower = host.toLowerCase(Locale.ROOT);
        if (lower.startsWith("[") && lower.endsWith("]")) {
            return lower.substring(1, lower.length() - 1);
        }
        return lower.endsWith(".") ? lower.substring(0, lower.length() - 1) : lower;
    }

    /** The certificate that the gateway has shown on a connection; null: none is known. */
    private static @Nullable X509Certificate certificate(Channel connection) {
        SslHandler tls = connection.pipeline().get(SslHandler.class);
        if (tls == null) {
            return null;
        }
        Certificate[] shown = tls.engine().getSession().getLocalCertificates();
        return shown != null && shown.length > 0 && shown[0] instanceof X509Certificate first ? first : null;
    }

    /**
     * Whether a certificate is valid for a host: by a name, by a wildcard for the first label (RFC 9525,
     * 6.3), or by an address.
     */
    static boolean covers(@Nullable X509Certificate certificate, String host) {
        try {
            Collection<List<?>> names = certificate == null ? null : certificate.getSubjectAlternativeNames();
            return names != null && covers(names, host);
        } catch (CertificateParsingException e) {
            return false;
        }
    }

    /** Whether one of a certificate's alternative names, each with its type, is that of a host. */
    static boolean covers(Collection<List<?>> names, String host) {
        for (List<?> entry : names) {
            Object type = entry.get(0);
            if (entry.get(1) instanceof String name
                    && ((type.equals(DNS_NAME) && matches(name.toLowerCase(Locale.ROOT), host))
                            || (type.equals(IP_ADDRESS) && name.equals(host)))) {
                return true;
            }
        }
        return false;
    }

    private static boolean matches(String pattern, String host) {
        if (!pattern.startsWith("*.")) {
            return pattern.equals(host);
        }
        int dot = host.indexOf('.');
        return dot > 0 && host.substring(dot).equals(pattern.substring(1));
    }
}
