package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Tells backends whom they are really talking to, in {@code X-Forwarded-*} and in {@code Forwarded} (RFC 7239).
 *
 * <p>What a trusted proxy says is kept, and the proxy's own address appended. What anybody else says is dropped, {@code
 * X-Real-IP} and the rarer {@code X-Forwarded-*} included, and replaced by what the gateway knows itself.
 *
 * <p>Concurrency: immutable but for a cache of the texts of the callers seen last, whose entries are immutable and replaced
 * without coordination; losing a race costs a text made twice.
 */
public final class Forwarding {

    private static final AsciiString FOR = AsciiString.cached("x-forwarded-for");
    private static final AsciiString PROTO = AsciiString.cached("x-forwarded-proto");
    private static final AsciiString HOST = AsciiString.cached("x-forwarded-host");
    private static final AsciiString PORT = AsciiString.cached("x-forwarded-port");
    private static final AsciiString FORWARDED = AsciiString.cached("forwarded");

    /** Believed by one framework or another, and never written by the gateway. */
    private static final AsciiString[] OTHERS = {
        AsciiString.cached("x-forwarded-prefix"),
        AsciiString.cached("x-forwarded-ssl"),
        AsciiString.cached("x-forwarded-scheme"),
        AsciiString.cached("x-forwarded-server"),
        AsciiString.cached("x-forwarded-by"),
        AsciiString.cached("x-real-ip"),
    };

    /** A power of two. */
    private static final int CACHED_CALLERS = 1024;

    private final TrustedProxies trusted;
    private final AtomicReferenceArray<@Nullable Caller> callers = new AtomicReferenceArray<>(CACHED_CALLERS);

    /** The texts for one caller, as it has asked for one host. */
    private record Caller(
            InetAddress address, String scheme, String host, String addressText, String forwarded, String port) {}

    /**
     * What to write for these trusted proxies.
     *
     * @throws IllegalArgumentException if one is malformed
     */
    public Forwarding(EdgeProperties properties) {
        this.trusted = TrustedProxies.of(properties.trustedProxies());
    }

    /**
     * Writes the fields into the head that goes to the backend.
     *
     * @param toBackend what goes to the backend: the caller's fields, copied
     * @param fromCaller the caller's fields; may be the same object
     * @param peer who is connected to the gateway
     * @param scheme the connection's
     * @param host what the caller asked for, of {@code Host} or the target; empty: nothing
     */
    public void write(
            HttpHeaders toBackend, HttpHeaders fromCaller, InetSocketAddress peer, String scheme, String host) {
        Caller caller = caller(peer, scheme, host);
        if (trusted.contains(peer.getAddress())) {
            append(toBackend, fromCaller, caller);
            return;
        }
        toBackend.set(FOR, caller.addressText);
        toBackend.set(PROTO, scheme);
        if (host.isEmpty()) {
            toBackend.remove(HOST);
        } else {
            toBackend.set(HOST, host);
        }
        toBackend.set(PORT, caller.port);
        toBackend.set(FORWARDED, caller.forwarded);
        for (AsciiString other : OTHERS) {
            toBackend.remove(other);
        }
    }

    /**
     * The caller's address for logs: the peer's, or if that is trusted, the right-most of {@code X-Forwarded-For} (or {@code Forwarded})
     * that is not. Whatever is there, this is an address: what is none ends the search at the one who passed it on.
     */
    public String callerAddress(HttpHeaders fromCaller, InetSocketAddress peer) {
        InetAddress nearest = peer.getAddress();
        if (!trusted.contains(nearest)) {
            return text(peer);
        }
        List<String> hops = hops(fromCaller);
        for (int i = hops.size() - 1; i >= 0; i--) {
            InetAddress hop = address(hops.get(i));
            if (hop == null) {
                break;
            }
            nearest = hop;
            if (!trusted.contains(hop)) {
                break;
            }
        }
        return NetUtil.toAddressString(nearest);
    }

    /**
     * The caller's scheme: the connection's, or what a trusted proxy says.
     *
     * @param scheme the connection's
     */
    public String callerScheme(HttpHeaders fromCaller, InetSocketAddress peer, String scheme) {
        if (!trusted.contains(peer.getAddress())) {
            return scheme;
        }
        String told = fromCaller.get(PROTO);
        if (told == null) {
            String forwarded = fromCaller.get(FORWARDED);
            told = forwarded == null ? null : parameter(elements(forwarded).get(0), "proto");
        } else {
            told = elements(told).get(0);
        }
        if (told == null) {
            return scheme;
        }
        return told.equalsIgnoreCase("https") ? "https" : told.equalsIgnoreCase("http") ? "http" : scheme;
    }

    private static void append(HttpHeaders toBackend, HttpHeaders fromCaller, Caller caller) {
        toBackend.set(FOR, joined(fromCaller, FOR, caller.addressText));
        toBackend.set(FORWARDED, joined(fromCaller, FORWARDED, caller.forwarded));
        String proto = keep(toBackend, fromCaller, PROTO, caller.scheme);
        String host = keep(toBackend, fromCaller, HOST, caller.host);
        keep(toBackend, fromCaller, PORT, portOf(host, proto));
    }

    /** The first value of the caller's, or ours; none of both is written where it is empty. */
    private static String keep(HttpHeaders toBackend, HttpHeaders fromCaller, AsciiString name, String ours) {
        String theirs = fromCaller.get(name);
        String value = theirs == null ? ours : theirs;
        if (value.isEmpty()) {
            toBackend.remove(name);
        } else {
            toBackend.set(name, value);
        }
        return value;
    }

    private static String joined(HttpHeaders fromCaller, AsciiString name, String last) {
        if (!fromCaller.contains(name)) {
            return last;
        }
        StringBuilder joined = new StringBuilder();
        for (String value : fromCaller.getAll(name)) {
            if (!value.isBlank()) {
                joined.append(value).append(", ");
            }
        }
        return joined.append(last).toString();
    }

    private Caller caller(InetSocketAddress peer, String scheme, String host) {
        InetAddress address = peer.getAddress();
        if (address == null) {
            // A peer that a PROXY protocol told by name; it has no address to be known by.
            return describe(InetAddress.getLoopbackAddress(), text(peer), scheme, host);
        }
        int hash = address.hashCode();
        int index = (hash ^ hash >>> 16) & (CACHED_CALLERS - 1);
        Caller known = callers.get(index);
        if (known != null && known.address.equals(address) && known.scheme.equals(scheme) && known.host.equals(host)) {
            return known;
        }
        Caller made = describe(address, text(peer), scheme, host);
        callers.set(index, made);
        return made;
    }

    private static Caller describe(InetAddress address, String text, String scheme, String host) {
        StringBuilder forwarded = new StringBuilder(64).append("for=");
        if (text.indexOf(':') >= 0) {
            forwarded.append("\"[").append(text).append("]\"");
        } else {
            forwarded.append(text);
        }
        if (!host.isEmpty()) {
            forwarded.append(";host=");
            appendValue(forwarded, host);
        }
        forwarded.append(";proto=").append(scheme);
        return new Caller(address, scheme, host, text, forwarded.toString(), portOf(host, scheme));
    }

    /** As a token where that will do, and quoted where not. */
    private static void appendValue(StringBuilder out, String value) {
        boolean token = value.chars()
                .allMatch(c -> (c >= '0' && c <= '9')
                        || (c >= 'a' && c <= 'z')
                        || (c >= 'A' && c <= 'Z')
                        || c == '.'
                        || c == '-'
                        || c == '_');
        if (token) {
            out.append(value);
            return;
        }
        out.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\');
            }
            out.append(c);
        }
        out.append('"');
    }

    private static String portOf(String host, String scheme) {
        String port = Authority.port(host);
        if (port != null) {
            return port;
        }
        return scheme.equalsIgnoreCase("https") ? "443" : "80";
    }

    private static String text(InetSocketAddress peer) {
        InetAddress address = peer.getAddress();
        return address == null ? "unknown" : NetUtil.toAddressString(address);
    }

    private static List<String> hops(HttpHeaders fromCaller) {
        List<String> hops = new ArrayList<>();
        for (String value : fromCaller.getAll(FOR)) {
            hops.addAll(elements(value));
        }
        if (!hops.isEmpty()) {
            return hops;
        }
        for (String value : fromCaller.getAll(FORWARDED)) {
            for (String element : elements(value)) {
                String hop = parameter(element, "for");
                hops.add(hop == null ? "" : hop);
            }
        }
        return hops;
    }

    /** What commas outside quotes part; at least one element. */
    private static List<String> elements(String value) {
        List<String> elements = new ArrayList<>(4);
        int from = 0;
        boolean quoted = false;
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"') {
                quoted = !quoted;
            } else if (c == ',' && !quoted) {
                elements.add(value.substring(from, i).strip());
                from = i + 1;
            }
        }
        elements.add(value.substring(from).strip());
        return elements;
    }

    /** The value of a parameter of a {@code Forwarded} element, without quotes. */
    private static @Nullable String parameter(String element, String name) {
        int from = 0;
        while (from < element.length()) {
            int end = element.indexOf(';', from);
            String pair =
                    element.substring(from, end < 0 ? element.length() : end).strip();
            if (pair.length() > name.length()
                    && pair.charAt(name.length()) == '='
                    && pair.regionMatches(true, 0, name, 0, name.length())) {
                return unquoted(pair.substring(name.length() + 1));
            }
            if (end < 0) {
                return null;
            }
            from = end + 1;
        }
        return null;
    }

    private static String unquoted(String value) {
        boolean quoted = value.length() >= 2 && value.startsWith("\"") && value.endsWith("\"");
        return quoted ? value.substring(1, value.length() - 1) : value;
    }

    /** Of {@code 192.0.2.1}, {@code 192.0.2.1:5678}, {@code 2001:db8::1} or {@code [2001:db8::1]:5678}; null of anything else. */
    private static @Nullable InetAddress address(String hop) {
        String text = hop;
        if (text.startsWith("[")) {
            int end = text.indexOf(']');
            text = end < 0 ? "" : text.substring(1, end);
        } else {
            int colon = text.indexOf(':');
            if (colon >= 0 && text.indexOf(':', colon + 1) < 0) {
                text = text.substring(0, colon);
            }
        }
        byte[] bytes = text.indexOf('%') >= 0 ? null : NetUtil.createByteArrayFromIpAddressString(text);
        if (bytes == null) {
            return null;
        }
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            return null;
        }
    }
}
