package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Removes header fields whose names are other spellings of certain names. Backends that map a field's name to
 * a variable, as CGI and WSGI do, read {@code X_Forwarded_For} as {@code X-Forwarded-For}. Immutable.
 */
public final class OtherSpellings {

    private final List<AsciiString> names;

    /**
     * The other spellings of some names.
     *
     * @param names in any case
     */
    public OtherSpellings(List<AsciiString> names) {
        this.names = List.copyOf(names);
    }

    /** Removes the fields with another spelling. Fields with one of the names itself stay. */
    public void removeFrom(HttpHeaders head) {
        List<CharSequence> found = null;
        Iterator<Map.Entry<CharSequence, CharSequence>> fields = head.iteratorCharSequence();
        while (fields.hasNext()) {
            CharSequence field = fields.next().getKey();
            if (isOtherSpelling(field)) {
                found = found == null ? new ArrayList<>() : found;
                found.add(field);
            }
        }
        if (found != null) {
            found.forEach(head::remove);
        }
    }

    private boolean isOtherSpelling(CharSequence field) {
        for (AsciiString name : names) {
            if (field.length() == name.length() && isSpelling(field, name) && !name.contentEqualsIgnoreCase(field)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isSpelling(CharSequence field, AsciiString name) {
        for (int i = 0; i < field.length(); i++) {
            if (withHyphens(field.charAt(i)) != withHyphens(name.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    /** The spelling that all spellings of a name have in common: in lower case, with hyphens. */
    static String withHyphens(String name) {
        StringBuilder spelling = new StringBuilder(name.length());
        for (int i = 0; i < name.length(); i++) {
            spelling.append(withHyphens(name.charAt(i)));
        }
        return spelling.toString();
    }

    private static char withHyphens(char c) {
        char lower = c >= 'A' && c <= 'Z' ? (char) (c + ('a' - 'A')) : c;
        return (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') ? lower : '-';
    }
}
