package io.weir.edge;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A host with an optional port, as in {@code Host}, {@code :authority} and absolute-form targets (RFC 3986,
 * 3.2). A comma is refused, although a host's name may contain one: some parsers read it as a list.
 */
public final class Authority {

    private static final int LARGEST_PORT = 65_535;
    private static final boolean[] HOST_CHARS = new boolean[128];

    static {
        Arrays.fill(HOST_CHARS, 'a', 'z' + 1, true);
        Arrays.fill(HOST_CHARS, 'A', 'Z' + 1, true);
        Arrays.fill(HOST_CHARS, '0', '9' + 1, true);
        for (char c : "-._~%!$&'()*+;=".toCharArray()) {
            HOST_CHARS[c] = true;
        }
    }

    private Authority() {}

    /**
     * Whether the text is a host name or an address, optionally followed by a port of at most 65535, without
     * user information.
     */
    public static boolean isValid(CharSequence authority) {
        int length = authority.length();
        if (length == 0) {
            return false;
        }
        int hostEnd = authority.charAt(0) == '[' ? literalEnd(authority) : nameEnd(authority);
        if (hostEnd <= 0) {
            return false;
        }
        if (hostEnd == length) {
            return true;
        }
        if (authority.charAt(hostEnd) != ':') {
            return false;
        }
        int port = 0;
        for (int i = hostEnd + 1; i < length; i++) {
            if (!isDigit(authority.charAt(i))) {
                return false;
            }
            port = 10 * port + (authority.charAt(i) - '0');
            if (port > LARGEST_PORT) {
                return false;
            }
        }
        return true;
    }

    /** The host without the port; of an IPv6 address, with its brackets. */
    public static String host(String authority) {
        int colon = authority.lastIndexOf(':');
        return colon < 0 || authority.indexOf(']', colon) >= 0 ? authority : authority.substring(0, colon);
    }

    /** The port's digits; null if there is no port. */
    static @Nullable String port(String authority) {
        int colon = authority.lastIndexOf(':');
        if (colon < 0 || colon == authority.length() - 1 || authority.indexOf(']', colon) >= 0) {
            return null;
        }
        return authority.substring(colon + 1);
    }

    private static int nameEnd(CharSequence authority) {
        int length = authority.length();
        int i = 0;
        while (i < length && authority.charAt(i) < 128 && HOST_CHARS[authority.charAt(i)]) {
            i++;
        }
        return i;
    }

    /** The index after the closing bracket of an IPv6 address; -1 if the address is malformed. */
    private static int literalEnd(CharSequence authority) {
        int length = authority.length();
        for (int i = 1; i < length; i++) {
            char c = authority.charAt(i);
            if (c == ']') {
                return i > 2 ? i + 1 : -1;
            }
            if (c != ':' && (c >= 128 || !HOST_CHARS[c])) {
                return -1;
            }
        }
        return -1;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
