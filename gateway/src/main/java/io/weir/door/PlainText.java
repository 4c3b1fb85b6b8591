package io.weir.door;

import java.util.Arrays;

/** Texts that consist of harmless characters only, as almost all do. */
final class PlainText {

    private static final boolean[] IN_TARGET = new boolean[128];
    private static final boolean[] IN_HOST = new boolean[128];

    static {
        for (boolean[] legal : new boolean[][] {IN_TARGET, IN_HOST}) {
            Arrays.fill(legal, 'a', 'z' + 1, true);
            Arrays.fill(legal, 'A', 'Z' + 1, true);
            Arrays.fill(legal, '0', '9' + 1, true);
            legal['-'] = true;
            legal['.'] = true;
        }
        IN_HOST[':'] = true;
        for (char c : "_~!$&'()*+,;=:@/?".toCharArray()) {
            IN_TARGET[c] = true;
        }
    }

    private PlainText() {}

    /** Whether a target in origin-form has only characters that need no escape in its path and query. */
    static boolean isTarget(String target) {
        return consistsOf(IN_TARGET, target);
    }

    /** Whether a host has only letters, digits, hyphens and dots; a port may follow. */
    static boolean isHost(String host) {
        return consistsOf(IN_HOST, host);
    }

    private static boolean consistsOf(boolean[] legal, String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= legal.length || !legal[c]) {
                return false;
            }
        }
        return true;
    }
}
