package io.weir.authentication;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.security.cert.Certificate;
import java.security.cert.CertificateEncodingException;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import javax.security.auth.x500.X500Principal;
import org.jspecify.annotations.Nullable;

/**
 * The certificate that a caller has shown in its TLS handshake: its names, and the fields of RFC 9440, which
 * are byte sequences of structured fields (RFC 9651). Immutable; read once for each connection.
 */
public final class ClientCertificate {

    /** The field of the caller's own certificate. */
    static final AsciiString CLIENT_CERT = AsciiString.cached("client-cert");

    /** The field of the other certificates. */
    static final AsciiString CLIENT_CERT_CHAIN = AsciiString.cached("client-cert-chain");

    /** The types of a GeneralName (RFC 5280, section 4.2.1.6). */
    private static final int DNS_NAME = 2;

    private static final int UNIFORM_RESOURCE_IDENTIFIER = 6;

    private final AsciiString leaf;
    private final @Nullable AsciiString chain;
    private final SubjectName subject;
    private final List<String> dnsNames;
    private final List<String> uris;

    private ClientCertificate(
            AsciiString leaf,
            @Nullable AsciiString chain,
            SubjectName subject,
            List<String> dnsNames,
            List<String> uris) {
        this.leaf = leaf;
        this.chain = chain;
        this.subject = subject;
        this.dnsNames = dnsNames;
        this.uris = uris;
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
        X509Certificate own = shown[0] instanceof X509Certificate x509 ? x509 : null;
        List<String> dnsNames = new ArrayList<>();
        alternativeNames(own, DNS_NAME).forEach(name -> dnsNames.add(name.toLowerCase(Locale.ROOT)));
        return new ClientCertificate(
                AsciiString.of(bytes(shown[0])),
                chain.isEmpty() ? null : AsciiString.of(chain),
                SubjectName.of(own == null ? new X500Principal("") : own.getSubjectX500Principal()),
                List.copyOf(dnsNames),
                alternativeNames(own, UNIFORM_RESOURCE_IDENTIFIER));
    }

    /** The subject alternative names of a type; none if the certificate's cannot be read. */
    private static List<String> alternativeNames(@Nullable X509Certificate certificate, int type) {
        List<String> names = new ArrayList<>();
        try {
            Collection<List<?>> all = certificate == null ? null : certificate.getSubjectAlternativeNames();
            if (all != null) {
                all.stream()
                        .filter(name -> name.getFirst().equals(type))
                        .forEach(name -> names.add(String.valueOf(name.get(1))));
            }
        } catch (CertificateParsingException e) {
            return List.of();
        }
        return List.copyOf(names);
    }

    /** The subject. */
    SubjectName subject() {
        return subject;
    }

    /** The subject, or if it is empty, as in a SPIFFE certificate, an alternative name. */
    String name() {
        String own = subject.toString();
        return !own.isEmpty()
                ? own
                : Stream.concat(uris.stream(), dnsNames.stream()).findFirst().orElse("without a name");
    }

    /** The subject alternative names of the type DNS, in lower case. */
    List<String> dnsNames() {
        return dnsNames;
    }

    /** The subject alternative names of the type URI. */
    List<String> uris() {
        return uris;
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
