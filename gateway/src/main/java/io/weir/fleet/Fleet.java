package io.weir.fleet;

import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Asks the other gateways for their state, and passes an operator's change on to them. */
// Concurrency: no state but the number of requests under way.
public final class Fleet {

    /** The time for another gateway's state. */
    static final Duration READ_TIMEOUT = Duration.ofSeconds(2);

    /** The time for another gateway's change: a reload reads and validates files, and resolves addresses. */
    static final Duration CHANGE_TIMEOUT = Duration.ofSeconds(10);

    /** Requests of operators to all gateways at once, for each of both kinds. */
    private static final int MAX_AT_ONCE = 8;

    private static final Logger log = LoggerFactory.getLogger(Fleet.class);

    private final String id;
    private final boolean isEnabled;
    private final Supplier<Members> members;
    private final Supplier<GatewaySummary> own;
    private final Peers peers;
    private final Semaphore reads = new Semaphore(MAX_AT_ONCE);
    private final Semaphore changes = new Semaphore(MAX_AT_ONCE);

    /** Too many requests to all gateways are under way. */
    static final class BusyException extends RuntimeException {

        private static final long serialVersionUID = 1;

        BusyException() {
            super(
                    "too many requests to all gateways (expected: at most " + MAX_AT_ONCE + " at once)",
                    null,
                    false,
                    false);
        }
    }

    /**
     * The fleet of a gateway.
     *
     * @param id names this gateway to the others; another one in each process
     * @param isEnabled whether changes may be passed on
     * @param members the gateways now
     * @param own the state of this gateway now
     */
    public Fleet(byte[] id, boolean isEnabled, Supplier<Members> members, Supplier<GatewaySummary> own, Peers peers) {
        this.id = HexFormat.of().formatHex(id);
        this.isEnabled = isEnabled;
        this.members = members;
        this.own = own;
        this.peers = peers;
    }

    /** Whether changes may be passed on. */
    boolean isEnabled() {
        return isEnabled;
    }

    /**
     * Whether a request comes from this gateway itself, at an address that is not known to be its own.
     *
     * @param passedOnBy the field of the request; null: none
     */
    boolean isOwn(@Nullable String passedOnBy) {
        return id.equals(passedOnBy);
    }

    /** The state of this gateway. Not for event loops. */
    GatewaySummary summary() {
        return own.get();
    }

    /** The state of all gateways; fails with {@link BusyException}. */
    Mono<FleetView> view(PeerRequest request) {
        return bounded(reads, () -> {
            Members now = members.get();
            return peers.send(now.others(), request, id)
                    .publishOn(Schedulers.boundedElastic())
                    .map(replies -> FleetView.of(now, own.get(), replies));
        });
    }

    /**
     * A change for all gateways: first here, then, if this gateway takes it, on all others. It is completed
     * even if its caller leaves. Otherwise an unknown part of the gateways would have the change.
     *
     * @param here changes this gateway; its result is the status of the answer
     * @param by the operator, for the log
     * @return the answer; empty: this gateway refuses, and no other one was asked; fails as {@code here}
     *     does, or with {@link BusyException}
     */
    Mono<FleetAnswer> change(PeerRequest request, Mono<Integer> here, String by) {
        return bounded(
                changes,
                () -> here.filter(status -> status >= 200 && status < 300).flatMap(status -> {
                    Members now = members.get();
                    return peers.send(now.others(), request, id)
                            .publishOn(Schedulers.boundedElastic())
                            .map(replies -> logged(FleetAnswer.of(now, status, replies), request, by));
                }));
    }

    private static FleetAnswer logged(FleetAnswer answer, PeerRequest request, String by) {
        List<FleetAnswer.Line> lines = answer.gateways();
        if (answer.detail() == null) {
            log.warn("{} by {} taken by all {} gateways", request, by, lines.size());
        } else {
            log.error("{} by {}: {}", request, by, answer.detail());
        }
        return answer;
    }

    private static <T> Mono<T> bounded(Semaphore turns, Supplier<Mono<T>> work) {
        return Mono.defer(() -> turns.tryAcquire()
                ? Mono.defer(work).doFinally(end -> turns.release())
                : Mono.error(new BusyException()));
    }
}
