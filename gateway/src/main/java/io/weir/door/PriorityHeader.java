package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.weir.edge.EdgeProperties;
import io.weir.edge.Forwarding;
import io.weir.edge.OtherSpellings;
import io.weir.limit.Priority;
import java.net.InetSocketAddress;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The header field in which trusted proxies set the priority of a request. Immutable.
 *
 * <p>The value of any other peer is ignored: a caller that could rank its own calls would rank all of them
 * first. The field towards the backend always has the priority that the gateway has used, so no forged value
 * passes.
 */
public final class PriorityHeader {

    private static final List<Priority> PRIORITIES = List.of(Priority.values());
    private static final List<AsciiString> WORDS = PRIORITIES.stream()
            .map(priority -> AsciiString.cached(priority.word()))
            .toList();

    private final AsciiString name;
    private final OtherSpellings otherSpellings;
    private final Forwarding forwarding;
    private final DoorListener listener;

    /**
     * The field.
     *
     * @param name its name
     * @param forwarding knows the trusted proxies
     * @param listener counts the values that are no priorities
     */
    PriorityHeader(String name, Forwarding forwarding, DoorListener listener) {
        this.name = AsciiString.cached(name.toLowerCase(Locale.ROOT));
        this.otherSpellings = new OtherSpellings(List.of(this.name));
        this.forwarding = forwarding;
        this.listener = listener;
    }

    /** The field that is configured; null: none. */
    public static @Nullable PriorityHeader of(EdgeProperties properties, DoorListener listener) {
        String name = properties.priorityHeader();
        return name == null ? null : new PriorityHeader(name, new Forwarding(properties), listener);
    }

    /**
     * The priority of a request; null: the peer is not trusted, the field is missing, or its value is no
     * priority. More than one value is no priority: a proxy that adds its field leaves the caller's in place.
     *
     * @param peer the other end of the connection; null: it has been closed
     */
    @Nullable
    Priority read(HttpHeaders fromCaller, @Nullable InetSocketAddress peer) {
        Priority priority = peek(fromCaller, peer);
        if (priority == null && isTrusted(peer) && fromCaller.contains(name)) {
            listener.priorityIgnored();
        }
        return priority;
    }

    /** {@link #read} for a request that is read again: a value that is no priority is not counted. */
    public @Nullable Priority peek(HttpHeaders fromCaller, @Nullable InetSocketAddress peer) {
        return isTrusted(peer) ? only(fromCaller.valueCharSequenceIterator(name)) : null;
    }

    /** {@link #peek(HttpHeaders, InetSocketAddress)} for HTTP/2. */
    public @Nullable Priority peek(Http2Headers fromCaller, @Nullable InetSocketAddress peer) {
        return isTrusted(peer) ? only(fromCaller.valueIterator(name)) : null;
    }

    private boolean isTrusted(@Nullable InetSocketAddress peer) {
        return peer != null && forwarding.isTrusted(peer);
    }

    private static @Nullable Priority only(Iterator<? extends CharSequence> values) {
        Priority priority = values.hasNext() ? parse(values.next()) : null;
        return values.hasNext() ? null : priority;
    }

    private static @Nullable Priority parse(CharSequence value) {
        for (int i = 0; i < WORDS.size(); i++) {
            if (WORDS.get(i).contentEqualsIgnoreCase(value)) {
                return PRIORITIES.get(i);
            }
        }
        return null;
    }

    /** Removes the field, in every spelling, from trailers, which a backend may merge into the head. */
    void removeFrom(HttpHeaders trailers) {
        otherSpellings.removeFrom(trailers);
        trailers.remove(name);
    }

    /** Writes the priority into the head for the backend, and removes the field's {@link OtherSpellings}. */
    void write(HttpHeaders toBackend, Priority priority) {
        otherSpellings.removeFrom(toBackend);
        toBackend.set(name, WORDS.get(priority.rank()));
    }
}
