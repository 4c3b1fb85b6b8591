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

/** One exchange of a {@link Storm}: where it is when two things happen to it at about the same moment, and which two. */
final class StormPlan {

    /** What can happen to an exchange. */
    enum Event {
        /** The caller leaves. */
        CANCEL,
        /** Its deadline fires. */
        TIMEOUT,
        /** The backend resets the connection. */
        ERROR,
        /** What it waits for comes: a permit, a connection, the answer, its end, the caller's taking it. */
        COMPLETE,
        /** The backend's limits change. */
        RESIZE,
        /** The gateway ends what is in flight. */
        SHUTDOWN
    }

    /** Where it is. */
    enum Phase {
        /** It waits for a permit; what fails or completes is a call in front of it. */
        QUEUED(Event.CANCEL, Event.TIMEOUT),
        /** It waits for a connection, in the middle of TLS's handshake. */
        CONNECTING(Event.CANCEL, Event.TIMEOUT),
        /** Half of its body is sent. */
        SENDING(Event.CANCEL, Event.TIMEOUT, Event.ERROR, Event.COMPLETE),
        /** It is sent, and has no answer. */
        AWAITING(Event.CANCEL, Event.TIMEOUT, Event.ERROR, Event.COMPLETE),
        /** It waits before its second attempt: no backend is asked, so that none can fail or answer. */
        RETRYING(Event.CANCEL, Event.TIMEOUT),
        /** Half of its answer has come. */
        ANSWERING(Event.CANCEL, Event.TIMEOUT, Event.ERROR, Event.COMPLETE),
        /** All of its answer has come, and the caller has not taken it: the backend has nothing to do with it any more. */
        FLUSHING(Event.CANCEL, Event.TIMEOUT, Event.COMPLETE);

        @SuppressWarnings("ImmutableEnumChecker") // Never changed.
        private final Set<Event> own;

        Phase(Event... own) {
            this.own = EnumSet.of(own[0], own);
        }

        /** What is done to a single exchange in it; the rest is done to all that are in flight. */
        Set<Event> own() {
            return own;
        }

        /** Whether it can meet both. */
        boolean meets(Event event) {
            return switch (event) {
                case RESIZE, SHUTDOWN -> true;
                case ERROR, COMPLETE -> own.contains(event) || this == QUEUED || this == CONNECTING;
                case CANCEL, TIMEOUT -> true;
            };
        }
    }

    /** What its caller saw of it. */
    enum Seen {
        WHOLE_ANSWER,
        BROKEN_OFF,
        LEFT
    }

    private static final long JITTER_NANOS = 1_000_000;
    /** The gateway has a wave to see to at that moment: it may learn of either first. */
    private static final long TOGETHER_NANOS = 4_000_000;

    private static final long LAST_NANOS = 100_000_000;

    final int id;
    final Door door;
    final Phase phase;
    /** What is to happen to it, but for what its connection in {@link Phase#CONNECTING} does, and the calls in front of it in {@link Phase#QUEUED}. */
    final Set<Event> events;

    final AtomicInteger attempts = new AtomicInteger();
    private final long latest;
    private final Map<Event, Long> at = new EnumMap<>(Event.class);
    private final Map<Event, Span> happened = new ConcurrentHashMap<>();

    volatile boolean reached;
    volatile @Nullable Seen seen;
    volatile int status;
    private volatile long endedAt;

    /** From when to when something happened, in {@link System#nanoTime}. */
    record Span(long from, long to) {

        /** Whether both were at about the same moment. */
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

    /** Whether something is to happen to it alone: if not, it may have come too late for what happens to all. */
    boolean hasOwn() {
        return events.stream().anyMatch(event -> event != Event.RESIZE && event != Event.SHUTDOWN);
    }

    /** When its caller has had enough. */
    long latest() {
        return latest;
    }

    /** When it is to happen. */
    long at(Event event) {
        return at.getOrDefault(event, Long.MAX_VALUE);
    }

    /** It has happened to it, from then until now. */
    void happened(Event event, long from) {
        happened.put(event, new Span(from, System.nanoTime()));
    }

    /** Its deadline is due then, unless it ends before. */
    void timesOutAt(long due) {
        happened.put(Event.TIMEOUT, new Span(due, due));
    }

    /** The caller knows its end. */
    void ended() {
        endedAt = System.nanoTime();
    }

    /** When it happened to it; null if it did not, or only when it was over. */
    @Nullable
    Span when(Event event) {
        Span span = happened.get(event);
        return span == null || isOverBefore(span) ? null : span;
    }

    /** Whether the caller knew the end before. Of its own leaving the gateway may learn a moment later. */
    boolean isOverBefore(Span span) {
        return !happened.containsKey(Event.CANCEL) && span.from() - endedAt > 0;
    }

    /** The backend that it is at. */
    String backend() {
        return phase == Phase.CONNECTING ? Storm.SECURE : Storm.PLAIN;
    }

    /** Its path in the access log. */
    String path() {
        return door.path(route(), Integer.toString(id));
    }

    private String route() {
        return switch (phase) {
            case CONNECTING -> Storm.SECURE;
            case RETRYING -> Storm.RETRIED;
            default -> Storm.PLAIN;
        };
    }

    @Override
    public String toString() {
        return "exchange " + id + ", " + door + ", " + phase + ", " + events + ", seen " + seen + " " + status;
    }
}
