package io.weir.authentication;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.security.cert.Certificate;
import java.security.cert.CertificateEncodingException;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * The certificate that a caller has shown in its TLS handshake, as the fields of RFC 9440: byte sequences of
 * structured fields (RFC 9651). Immutable; encoded once for each connection.
 */
public final class ClientCertificate {

    /** The field of the caller's own certificate. */
    static final AsciiString CLIENT_CERT = AsciiString.cached("client-cert");

    /** The field of the other certificates. */
    static final AsciiString CLIENT_CERT_CHAIN = AsciiString.cached("client-cert-chain");

    private final AsciiString leaf;
    private final @Nullable AsciiString chain;

    private ClientCertificate(AsciiString leaf, @Nullable AsciiString chain) {
        this.leaf = leaf;
        this.chain = chain;
    }

    /**
     * The certificate of a handshake.
     *
     * @param shown the caller's own certificate, and the others that it has sent, in their order
     * @throws CertificateEncodingException if one cannot be encoded
     */
    public static ClientCertificate of(Certificate[] shown) throws CertificateEncodingException {
        StringBuilder chain = new StringBuilder();
        for (int i = 1; i < shown.length; i++) {
            chain.append(i == 1 ? "" : ", ").append(bytes(shown[i]));
        }
        return new ClientCertificate(AsciiString.of(bytes(shown[0])), chain.isEmpty() ? null : AsciiString.of(chain));
    }

    private static String bytes(Certificate certificate) throws CertificateEncodingException {
        return ':' + Base64.getEncoder().encodeToString(certificate.getEncoded()) + ':';
    }

    /** Writes the fields into the head for the backend. */
    public void writeTo(HttpHeaders toBackend, ClientCertificateMode mode) {
        if (mode == ClientCertificateMode.NONE) {
            return;
        }
        toBackend.set(CLIENT_CERT, leaf);
        if (mode == ClientCertificateMode.CHAIN && chain != null) {
            toBackend.set(CLIENT_CERT_CHAIN, chain);
        }
    }
}
