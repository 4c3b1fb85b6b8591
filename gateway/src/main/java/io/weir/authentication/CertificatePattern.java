package io.weir.authentication;

import java.util.Locale;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A pattern of client certificates that may use a route: of a subject alternative name (DNS or URI), or of
 * the subject. Immutable.
 *
 * <p>A pattern has at most one wildcard {@code *}, for one or more characters. The wildcard covers no dot of
 * a DNS name and no other attribute of a subject. It covers a slash of a URI only at the pattern's end. So
 * {@code uri:spiffe://example.org/ns/*}{@code /sa/orders} stands for one namespace, and
 * {@code uri:spiffe://example.org/ns/shop/*} for everything below it.
 */
public final class CertificatePattern {

    /** The forms, for messages. */
    public static final String EXPECTED = "dns:NAME, uri:URI or subject:DN, with at most one *";

    /** The forms as a regular expression, except the syntax of names. */
    static final String FORM = "(dns|uri|subject):([^*]+|[^*]*\\*[^*]*)";

    private static final String DNS = "dns:";
    private static final String URI = "uri:";
    private static final String SUBJECT = "subject:";
    private static final Predicate<String> IS_FORM = Pattern.compile(FORM).asMatchPredicate();
    private static final Predicate<String> IS_DNS =
            Pattern.compile("[a-z0-9_*-]+(\\.[a-z0-9_*-]+)*").asMatchPredicate();

    private final boolean isDns;
    /** Of a DNS name or URI; empty for a subject. */
    private final String alternativeName;

    private final @Nullable SubjectName subject;

    private CertificatePattern(boolean isDns, String alternativeName, @Nullable SubjectName subject) {
        this.isDns = isDns;
        this.alternativeName = alternativeName;
        this.subject = subject;
    }

    /**
     * Reads a pattern.
     *
     * @throws IllegalArgumentException if it is malformed
     */
    public static CertificatePattern parse(String text) {
        if (IS_FORM.test(text)) {
            if (text.startsWith(SUBJECT)) {
                return new CertificatePattern(false, "", SubjectName.parse(text.substring(SUBJECT.length())));
            }
            if (text.startsWith(URI)) {
                return new CertificatePattern(false, text.substring(URI.length()), null);
            }
            String name = text.substring(DNS.length()).toLowerCase(Locale.ROOT);
            if (IS_DNS.test(name)) {
                return new CertificatePattern(true, name, null);
            }
        }
        throw new IllegalArgumentException("certificates: " + text + " (expected: " + EXPECTED + ")");
    }

    /** Whether a certificate has such a name. */
    boolean matches(ClientCertificate certificate) {
        SubjectName expected = subject;
        if (expected != null) {
            return certificate.subject().matches(expected);
        }
        int delimiter = isDns ? '.' : alternativeName.endsWith("*") ? Wildcard.NO_DELIMITER : '/';
        for (String name : isDns ? certificate.dnsNames() : certificate.uris()) {
            if (Wildcard.matches(alternativeName, name, delimiter)) {
                return true;
            }
        }
        return false;
    }
}
