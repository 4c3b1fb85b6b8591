package io.weir.management;

import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Decides whether the field {@code Host} names the management port by a name of its own.
 *
 * <p>Protects against DNS rebinding: a page of an attacker's site points the site's own name to the loopback
 * address, so that the operator's browser takes the management port for the same origin, and the page can
 * read every answer. The field {@code Host} then has the attacker's name. An IP address and {@code localhost}
 * cannot be pointed elsewhere.
 */
final class AllowedHosts {

    private static final Pattern IP_ADDRESS = Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,3}){3}|\\[[0-9a-fA-F:.]+]");
    private static final Pattern PORT = Pattern.compile(":[0-9]*$");
    private static final Pattern TRAILING_DOT = Pattern.compile("\\.$");
    private static final String LOCALHOST = "localhost";
    private static final String ANY_BELOW = "*.";

    private final Set<String> names = new HashSet<>();
    /** Suffixes of names, each with its leading dot. */
    private final Set<String> suffixes = new HashSet<>();

    /**
     * Allows IP addresses, {@code localhost} and more names.
     *
     * @param allowed names, or {@code *.} and a name for all names below it
     */
    AllowedHosts(List<String> allowed) {
        names.add(LOCALHOST);
        suffixes.add('.' + LOCALHOST);
        for (String host : allowed) {
            String name = host.toLowerCase(Locale.ROOT);
            if (name.startsWith(ANY_BELOW)) {
                suffixes.add(name.substring(1));
            } else {
                names.add(name);
            }
        }
    }

    /**
     * Whether all these values of {@code Host} are allowed.
     *
     * @param hosts the values of all fields; false if there is none
     */
    boolean permit(List<String> hosts) {
        return !hosts.isEmpty() && hosts.stream().allMatch(this::permits);
    }

    private boolean permits(String host) {
        String withoutPort = PORT.matcher(host.strip()).replaceFirst("");
        if (IP_ADDRESS.matcher(withoutPort).matches()) {
            return true;
        }
        String name = TRAILING_DOT.matcher(withoutPort).replaceFirst("").toLowerCase(Locale.ROOT);
        return names.contains(name)
                || suffixes.stream().anyMatch(suffix -> name.length() > suffix.length() && name.endsWith(suffix));
    }
}
