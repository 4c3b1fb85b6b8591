package io.weir.engine;

import io.weir.testing.Door;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The plan of one exchange in a {@link Storm}: its phase, and the events that hit it at about the same
 * moment.
 */
final class StormPlan {

    /** An event that can hit an exchange. */
    enum Event {
        /** The caller leaves. */
        CANCEL,
        /** The deadline passes. */
        TIMEOUT,
        /** The backend resets the connection. */
        ERROR,
        /**
         * The awaited step completes: the permit, the connection, the answer, its end, or the caller's
         * reading.
         */
        COMPLETE,
        /** The limits of the backend change. */
        RESIZE,
        /** The gateway ends every exchange in flight. */
        SHUTDOWN
    }

    /** The phase of the exchange when the events hit it. */
    enum Phase {
        /** It waits for a permit; a call ahead of it fails or completes. */
        QUEUED(Event.CANCEL, Event.TIMEOUT),
        /** It waits for a connection, in the middle of the TLS handshake. */
        CONNECTING(Event.CANCEL, Event.TIMEOUT),
        /** Half of the request's body is sent. */
        SENDING(Event.CANCEL, Event.TIMEOUT, Event.ERROR, Event.COMPLETE),
        /** The request is sent and not answered. */
        AWAITING(Event.CANCEL, Event.TIMEOUT, Event.ERROR, Event.COMPLETE),
        /** The call is sent to two instances, which do the same at the same moment. */
        HEDGED(Event.CANCEL, Event.TIMEOUT, Event.ERROR, Event.COMPLETE),
        /** The backoff before the second attempt: no backend is asked, so none can fail or answer. */
        RETRYING(Event.CANCEL, Event.TIMEOUT),
        /** Half of the answer has arrived. */
        ANSWERING(Event.CANCEL, Event.TIMEOUT, Event.ERROR, Event.COMPLETE),
        /** The answer is complete, and the caller has not read it: the backend is no longer involved. */
        FLUSHING(Event.CANCEL, Event.TIMEOUT, Event.COMPLETE);

        @SuppressWarnings("ImmutableEnumChecker") // Never changed.
        private final Set<Event> own;

        Phase(Event... own) {
            this.own = EnumSet.of(own[0], own);
        }

        /** The events that hit a single exchange; the others hit all exchanges in flight. */
        Set<Event> own() {
            return own;
        }

        /** Whether the event can hit an exchange in this phase. */
        boolean meets(Event event) {
            return switch (event) {
                case RESIZE, SHUTDOWN -> true;
                case ERROR, COMPLETE -> own.contains(event) || this == QUEUED || this == CONNECTING;
                case CANCEL, TIMEOUT -> true;
            };
        }
    }

    /** The end of the exchange as its caller saw it. */
    enum Seen {
        COMPLETE_ANSWER,
        BROKEN_OFF,
        LEFT
    }

    private static final long JITTER_NANOS = 1_000_000;
    /**
     * The tolerance for a meeting: the gateway handles a whole wave at that moment, and may see either event
     * first.
     */
    private static final long TOGETHER_NANOS = 4_000_000;

    private static final long LAST_NANOS = 100_000_000;

    final int id;
    final Door door;
    final Phase phase;
    /**
     * The planned events, except those of the connection in {@link Phase#CONNECTING} and of the calls ahead
     * in {@link Phase#QUEUED}.
     */
    final Set<Event> events;

    final AtomicInteger attempts = new AtomicInteger();
    private final long latest;
    private final Map<Event, Long> at = new EnumMap<>(Event.class);
    private final Map<Event, Span> happened = new ConcurrentHashMap<>();

    volatile boolean reached;
    volatile @Nullable Seen seen;
    volatile int status;
    private volatile long endedAt;

    /** The start and end of an event, in {@link System#nanoTime}. */
    record Span(long from, long to) {

        /** Whether both events occurred at about the same moment. */
        boolean meets(Span other) {
            return from - other.to <= TOGETHER_NANOS && other.from - to <= TOGETHER_NANOS;
        }
    }

    StormPlan(int id, Door door, Phase phase, Set<Event> events, long moment, RandomGenerator random) {
        this.id = id;
        this.door = door;
        this.phase = phase;
        this.events = events;
        this.latest = moment + LAST_NANOS;
        for (Event event : Event.values()) {
            at.put(event, moment + random.nextLong(2 * JITTER_NANOS) - JITTER_NANOS);
        }
    }

    boolean has(Event event) {
        return events.contains(event);
    }

    /**
     * Whether a planned event hits this exchange alone. If not, the exchange may have been too late for its
     * events.
     */
    boolean hasOwn() {
        return events.stream().anyMatch(event -> event != Event.RESIZE && event != Event.SHUTDOWN);
    }

    /** The moment at which the caller leaves at the latest. */
    long latest() {
        return latest;
    }

    /** The planned moment of the event. */
    long at(Event event) {
        return at.getOrDefault(event, Long.MAX_VALUE);
    }

    /** The event occurred, between the given moment and now. */
    void happened(Event event, long from) {
        happened.put(event, new Span(from, System.nanoTime()));
    }

    /** The deadline passes at this moment, unless the exchange ends before. */
    void timesOutAt(long due) {
        happened.put(Event.TIMEOUT, new Span(due, due));
    }

    /** The caller has seen the end. */
    void ended() {
        endedAt = System.nanoTime();
    }

    /** The time of the event; null if it did not occur, or only after the end. */
    @Nullable
    Span when(Event event) {
        Span span = happened.get(event);
        return span == null || isOverBefore(span) ? null : span;
    }

    /** Whether the caller saw the end before. The gateway may see a leaving caller a moment later. */
    boolean isOverBefore(Span span) {
        return !happened.containsKey(Event.CANCEL) && span.from() - endedAt > 0;
    }

    /** The backend of the exchange. */
    String backend() {
        return switch (phase) {
            case CONNECTING -> Storm.SECURE;
            case HEDGED -> Storm.HEDGED;
            default -> Storm.PLAIN;
        };
    }

    /** The path of the exchange in the access log. */
    String path() {
        return door.path(route(), Integer.toString(id));
    }

    private String route() {
        return switch (phase) {
            case CONNECTING -> Storm.SECURE;
            case RETRYING -> Storm.RETRIED;
            case HEDGED -> Storm.HEDGED;
            default -> Storm.PLAIN;
        };
    }

    @Override
    public String toString() {
        return "exchange " + id + ", " + door + ", " + phase + ", " + events + ", seen " + seen + " " + status;
    }
}
