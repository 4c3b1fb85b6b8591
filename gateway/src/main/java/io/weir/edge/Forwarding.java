package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import io.weir.outcome.ProbeMark;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Writes the caller's address, scheme and host for backends, in {@code X-Forwarded-*} and in
 * {@code Forwarded} (RFC 7239).
 *
 * <p>Values from a trusted proxy are kept, and the proxy's address is appended. Values from any other peer
 * are replaced by the facts of the connection; {@code X-Real-IP}, {@code X-Url-Scheme},
 * {@code Front-End-Https} and the rarer {@code X-Forwarded-*} fields are removed. {@link OtherSpellings} of
 * the names are removed from the requests of every peer, and so is {@link ProbeMark}.
 *
 * <p>Concurrency: immutable except for a cache of the texts of recent callers. Its entries are immutable and
 * replaced without coordination; after a lost race, one text is built twice.
 */
public final class Forwarding {

    private static final AsciiString FOR = AsciiString.cached("x-forwarded-for");
    private static final AsciiString PROTO = AsciiString.cached("x-forwarded-proto");
    private static final AsciiString HOST = AsciiString.cached("x-forwarded-host");
    private static final AsciiString PORT = AsciiString.cached("x-forwarded-port");
    private static final AsciiString FORWARDED = AsciiString.cached("forwarded");

    /** Some frameworks trust these fields; the gateway never writes them. */
    private static final AsciiString[] OTHERS = {
        AsciiString.cached("x-forwarded-prefix"),
        AsciiString.cached("x-forwarded-protocol"),
        AsciiString.cached("x-forwarded-ssl"),
        AsciiString.cached("x-forwarded-scheme"),
        AsciiString.cached("x-forwarded-server"),
        AsciiString.cached("x-forwarded-by"),
        AsciiString.cached("x-real-ip"),
        AsciiString.cached("x-url-scheme"),
        AsciiString.cached("front-end-https"),
    };

    private static final OtherSpellings OTHER_SPELLINGS =
            new OtherSpellings(Stream.concat(Stream.of(FOR, PROTO, HOST, PORT, ProbeMark.WEIR_PROBE), Stream.of(OTHERS))
                    .toList());

    /** The longest value of a trusted field that is used as a name; the rest is cut off. */
    private static final int MAX_NAME_CHARS = 128;

    /** Leading bytes of an IPv6 address that name the network of one caller. */
    private static final int IPV6_NETWORK_BYTES = 8;

    /** A power of two. */
    private static final int CACHED_CALLERS = 1024;

    private final Networks trusted;
    private final AtomicReferenceArray<@Nullable CallerText> callers = new AtomicReferenceArray<>(CACHED_CALLERS);

    /** The texts for one caller that asks for one host. */
    private record CallerText(
            InetAddress address, String scheme, String host, String addressText, String forwarded, String port) {}

    /**
     * Reads the trusted proxies.
     *
     * @throws IllegalArgumentException if one of their networks is malformed
     */
    public Forwarding(EdgeProperties properties) {
        this.trusted = Networks.of("trusted-proxies", properties.trustedProxies());
    }

    /**
     * Writes the fields into the head that goes to the backend.
     *
     * @param toBackend the head for the backend: a copy of the caller's fields
     * @param fromCaller the caller's fields; may be the same object
     * @param peer the address of the connection's other end
     * @param scheme the connection's scheme
     * @param host the host that the caller asks for, from {@code Host} or the target; empty if there is none
     */
    public void write(
            HttpHeaders toBackend, HttpHeaders fromCaller, InetSocketAddress peer, String scheme, String host) {
        OTHER_SPELLINGS.removeFrom(toBackend);
        toBackend.remove(ProbeMark.WEIR_PROBE);
        CallerText caller = callerText(peer, scheme, host);
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

    /** Whether the connection's other end is a trusted proxy. */
    public boolean isTrusted(InetSocketAddress peer) {
        return trusted.contains(peer.getAddress());
    }

    /**
     * The caller's address for logs: the peer's address, or, if the peer is trusted, the right-most address
     * in {@code X-Forwarded-For} (or {@code Forwarded}) that is not trusted. The result is always an address:
     * an entry that is not an address ends the search, and the result is the hop that added the entry.
     */
    public String callerAddress(HttpHeaders fromCaller, InetSocketAddress peer) {
        InetAddress caller = clientAddress(fromCaller, peer);
        return caller == null ? text(peer) : NetUtil.toAddressString(caller);
    }

    /**
     * The caller's {@linkplain #callerAddress address}; of an IPv6 address its /64 network, since one caller
     * usually has all addresses of it.
     */
    public String callerNetwork(HttpHeaders fromCaller, InetSocketAddress peer) {
        InetAddress caller = clientAddress(fromCaller, peer);
        if (!(caller instanceof Inet6Address)) {
            return caller == null ? text(peer) : NetUtil.toAddressString(caller);
        }
        byte[] network = caller.getAddress();
        Arrays.fill(network, IPV6_NETWORK_BYTES, network.length, (byte) 0);
        return NetUtil.bytesToIpAddress(network) + "/64";
    }

    /**
     * The only value of a field that a trusted proxy has set, cut to {@value #MAX_NAME_CHARS} characters;
     * null: the peer is not trusted, or the field is missing, empty, or has more than one value. A proxy that
     * adds its field to the caller's, instead of replacing it, passes on a value that a caller can forge.
     */
    public @Nullable String trustedValue(HttpHeaders fromCaller, InetSocketAddress peer, CharSequence name) {
        if (!trusted.contains(peer.getAddress())) {
            return null;
        }
        Iterator<String> values = fromCaller.valueStringIterator(name);
        if (!values.hasNext()) {
            return null;
        }
        String value = values.next();
        if (value.isEmpty() || values.hasNext()) {
            return null;
        }
        return value.length() <= MAX_NAME_CHARS ? value : value.substring(0, MAX_NAME_CHARS);
    }

    /** The caller's {@linkplain #callerAddress address}; null if the peer has none. */
    public @Nullable InetAddress clientAddress(HttpHeaders fromCaller, InetSocketAddress peer) {
        InetAddress nearest = peer.getAddress();
        if (!trusted.contains(nearest)) {
            return nearest;
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
        return nearest;
    }

    /**
     * The caller's scheme: the connection's scheme, or the one that a trusted proxy has added.
     *
     * @param scheme the connection's scheme
     */
    public String callerScheme(HttpHeaders fromCaller, InetSocketAddress peer, String scheme) {
        if (!trusted.contains(peer.getAddress())) {
            return scheme;
        }
        String received = fromCaller.get(PROTO);
        if (received == null) {
            String forwarded = fromCaller.get(FORWARDED);
            received = forwarded == null ? null : parameter(elements(forwarded).get(0), "proto");
        } else {
            received = elements(received).get(0);
        }
        if (received == null) {
            return scheme;
        }
        return received.equalsIgnoreCase("https") ? "https" : received.equalsIgnoreCase("http") ? "http" : scheme;
    }

    private static void append(HttpHeaders toBackend, HttpHeaders fromCaller, CallerText caller) {
        toBackend.set(FOR, joined(fromCaller, FOR, caller.addressText));
        toBackend.set(FORWARDED, joined(fromCaller, FORWARDED, caller.forwarded));
        String proto = keep(toBackend, fromCaller, PROTO, caller.scheme);
        String host = keep(toBackend, fromCaller, HOST, caller.host);
        keep(toBackend, fromCaller, PORT, portOf(host, proto));
    }

    /**
     * Writes the caller's first value, or the gateway's if there is none; removes the field if the value is
     * empty.
     */
    private static String keep(HttpHeaders toBackend, HttpHeaders fromCaller, AsciiString name, String own) {
        String received = fromCaller.get(name);
        String value = received == null ? own : received;
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

    private CallerText callerText(InetSocketAddress peer, String scheme, String host) {
        InetAddress address = peer.getAddress();
        if (address == null) {
            // The PROXY protocol's header named the peer without an address.
            return build(InetAddress.getLoopbackAddress(), text(peer), scheme, host);
        }
        int hash = address.hashCode();
        int index = (hash ^ hash >>> 16) & (CACHED_CALLERS - 1);
        CallerText cached = callers.get(index);
        if (cached != null
                && cached.address.equals(address)
                && cached.scheme.equals(scheme)
                && cached.host.equals(host)) {
            return cached;
        }
        CallerText built = build(address, text(peer), scheme, host);
        callers.set(index, built);
        return built;
    }

    private static CallerText build(InetAddress address, String text, String scheme, String host) {
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
        return new CallerText(address, scheme, host, text, forwarded.toString(), portOf(host, scheme));
    }

    /** Appends a value as a token, or quoted if it is no token. */
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

    /** Splits a value at the commas outside of quotes; the result has at least one element. */
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

    /**
     * Parses {@code 192.0.2.1}, {@code 192.0.2.1:5678}, {@code 2001:db8::1} or {@code [2001:db8::1]:5678};
     * null for any other text.
     */
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
