package io.weir.authentication;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import javax.naming.InvalidNameException;
import javax.naming.NamingEnumeration;
import javax.naming.NamingException;
import javax.naming.directory.Attribute;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import javax.security.auth.x500.X500Principal;

/**
 * The subject of a certificate, or a pattern of subjects, as its attributes. Immutable.
 *
 * <p>A pattern is compared attribute by attribute, not as a text: in the text {@code CN=x\,O=Example}, the
 * organisation is a part of the common name, and {@code CN=*,O=Example} must not match it.
 */
final class SubjectName {

    /** Attributes beyond those of RFC 4514 that OpenSSL shows by a name. */
    private static final Map<String, String> NAMES = Map.of(
            "1.2.840.113549.1.9.1", "emailAddress",
            "2.5.4.4", "SN",
            "2.5.4.5", "serialNumber",
            "2.5.4.12", "title",
            "2.5.4.42", "GN",
            "2.5.4.46", "dnQualifier",
            "2.5.4.97", "organizationIdentifier");

    private final String text;
    /** The relative names, each with its attributes in the order of their types. */
    private final List<List<SubjectAttribute>> names;

    private record SubjectAttribute(String type, String value) {}

    private SubjectName(String text, List<List<SubjectAttribute>> names) {
        this.text = text;
        this.names = names;
    }

    /**
     * Reads a name.
     *
     * @param text a distinguished name as RFC 4514 has it, the common name first
     * @throws IllegalArgumentException if it is malformed or empty
     */
    static SubjectName parse(String text) {
        try {
            LdapName parsed = new LdapName(text);
            if (parsed.isEmpty()) {
                throw new IllegalArgumentException("subject: empty (expected: a distinguished name of RFC 4514)");
            }
            List<List<SubjectAttribute>> names = new ArrayList<>();
            for (Rdn relative : parsed.getRdns()) {
                List<SubjectAttribute> attributes = attributes(relative);
                if (attributes.isEmpty()) {
                    throw new InvalidNameException("an attribute is missing");
                }
                names.add(attributes);
            }
            return new SubjectName(text, List.copyOf(names));
        } catch (NamingException e) {
            throw new IllegalArgumentException("subject: " + text + " (expected: a distinguished name of RFC 4514)", e);
        }
    }

    /** The subject of a certificate; one that cannot be read matches no pattern. */
    static SubjectName of(X500Principal subject) {
        String text = subject.getName(X500Principal.RFC2253, NAMES);
        try {
            return parse(text);
        } catch (IllegalArgumentException e) {
            return new SubjectName(text, List.of());
        }
    }

    private static List<SubjectAttribute> attributes(Rdn relative) throws NamingException {
        List<SubjectAttribute> attributes = new ArrayList<>();
        NamingEnumeration<? extends Attribute> types = relative.toAttributes().getAll();
        while (types.hasMore()) {
            Attribute attribute = types.next();
            for (int i = 0; i < attribute.size(); i++) {
                attributes.add(
                        new SubjectAttribute(attribute.getID().toLowerCase(Locale.ROOT), text(attribute.get(i))));
            }
        }
        attributes.sort(Comparator.comparing(SubjectAttribute::type).thenComparing(SubjectAttribute::value));
        return List.copyOf(attributes);
    }

    /** A value that is no text has the form {@code #0403...}. */
    private static String text(Object value) throws InvalidNameException {
        return switch (value) {
            case String string -> string;
            case byte[] encoded -> '#' + HexFormat.of().formatHex(encoded);
            default -> throw new InvalidNameException("a value of " + value.getClass());
        };
    }

    /** Whether this name matches a pattern: the same attributes in the same order, with its wildcard. */
    boolean matches(SubjectName pattern) {
        if (names.size() != pattern.names.size()) {
            return false;
        }
        for (int i = 0; i < names.size(); i++) {
            if (!matches(names.get(i), pattern.names.get(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean matches(List<SubjectAttribute> own, List<SubjectAttribute> pattern) {
        if (own.size() != pattern.size()) {
            return false;
        }
        for (int i = 0; i < own.size(); i++) {
            SubjectAttribute expected = pattern.get(i);
            if (!own.get(i).type.equals(expected.type)
                    || !Wildcard.matches(expected.value, own.get(i).value, Wildcard.NO_DELIMITER)) {
                return false;
            }
        }
        return true;
    }

    @Override
    public String toString() {
        return text;
    }
}
