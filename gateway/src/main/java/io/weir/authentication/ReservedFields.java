package io.weir.authentication;

import io.netty.handler.codec.http.HttpHeaders;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The header fields that only the gateway may set: the identity of the caller, and its client certificate.
 * They are removed from each request, in every spelling: backends that map a field's name to a variable, as
 * CGI does, read {@code X_Identity} as {@code X-Identity}. Immutable.
 */
public final class ReservedFields {

    private final List<String> names;
    private final ClientCertificateMode certificates;

    private ReservedFields(List<String> names, ClientCertificateMode certificates) {
        this.names = names;
        this.certificates = certificates;
    }

    /** The fields of a configuration; null: none. */
    public static @Nullable ReservedFields of(AuthenticationProperties properties) {
        List<String> names = new ArrayList<>();
        String identityHeader = properties.identityHeader();
        if (identityHeader != null) {
            names.add(identityHeader.toLowerCase(Locale.ROOT));
        }
        if (properties.clientCertificate() != ClientCertificateMode.NONE) {
            names.add(ClientCertificate.CLIENT_CERT.toString());
            names.add(ClientCertificate.CLIENT_CERT_CHAIN.toString());
        }
        return names.isEmpty() ? null : new ReservedFields(List.copyOf(names), properties.clientCertificate());
    }

    /** Removes the fields from a caller's head or trailers. */
    public void removeFrom(HttpHeaders fields) {
        List<String> forged = null;
        for (Map.Entry<CharSequence, CharSequence> field :
                (Iterable<Map.Entry<CharSequence, CharSequence>>) fields::iteratorCharSequence) {
            if (isReserved(field.getKey())) {
                forged = forged == null ? new ArrayList<>() : forged;
                forged.add(field.getKey().toString());
            }
        }
        if (forged != null) {
            forged.forEach(fields::remove);
        }
    }

    /** Whether backends receive the certificates of callers. */
    public boolean hasCertificates() {
        return certificates != ClientCertificateMode.NONE;
    }

    /** Writes the caller's certificate into the head for the backend, as configured. */
    public void writeCertificate(ClientCertificate certificate, HttpHeaders toBackend) {
        certificate.writeTo(toBackend, certificates);
    }

    private boolean isReserved(CharSequence field) {
        for (String name : names) {
            if (isSpelling(field, name)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isSpelling(CharSequence field, String name) {
        if (field.length() != name.length()) {
            return false;
        }
        for (int i = 0; i < name.length(); i++) {
            if (folded(field.charAt(i)) != folded(name.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    /** A letter in lower case, a digit, or a hyphen for every other character. */
    private static char folded(char c) {
        if (c >= 'A' && c <= 'Z') {
            return (char) (c + ('a' - 'A'));
        }
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
    }
}
