package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
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
final class PriorityHeader {

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

    /**
     * The priority of a request; null: the peer is not trusted, the field is missing, or its value is no
     * priority. More than one value is no priority: a proxy that adds its field leaves the caller's in place.
     *
     * @param peer the other end of the connection; null: it has been closed
     */
    @Nullable
    Priority read(HttpHeaders fromCaller, @Nullable InetSocketAddress peer) {
        if (peer == null || !forwarding.isTrusted(peer)) {
            return null;
        }
        Iterator<? extends CharSequence> values = fromCaller.valueCharSequenceIterator(name);
        if (!values.hasNext()) {
            return null;
        }
        Priority priority = parse(values.next());
        if (priority == null || values.hasNext()) {
            listener.priorityIgnored();
            return null;
        }
        return priority;
    }

    private static @Nullable Priority parse(CharSequence value) {
        for (int i = 0; i < WORDS.size(); i++) {
            if (WORDS.get(i).contentEqualsIgnoreCase(value)) {
                return PRIORITIES.get(i);
            }
        }
        return null;
    }

    /** Writes the priority into the head for the backend, and removes the field's {@link OtherSpellings}. */
    void write(HttpHeaders toBackend, Priority priority) {
        otherSpellings.removeFrom(toBackend);
        toBackend.set(name, WORDS.get(priority.rank()));
    }
}
