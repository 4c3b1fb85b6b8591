package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.health.RouteHealth;
import io.weir.limit.Limit.Evidence;
import io.weir.limit.QueueingBulkhead;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The permits of an exchange that does not start, so that only they are at work. */
class PermitsTest {

    private static final Duration SERVICE = Duration.ofMillis(30);

    private final ExchangeFixture fixture = new ExchangeFixture();
    private final RouteHealth route = fixture.withOtherRoute();

    private Permits permits() {
        fixture.create();
        return new Admission(fixture.exchange(), fixture.record().backend(), null).permits();
    }

    private Decision acquire(Permits permits) {
        return permits.acquire(true, fixture.now());
    }

    /** The permits of a call that the backend has had for a while. */
    private Permits used() {
        Permits permits = permits();
        assertThat(acquire(permits)).isEqualTo(Step.ADMIT);
        permits.attemptStarts(fixture.now());
        fixture.advance(SERVICE);
        return permits;
    }

    /** The permits in use: of the route, the bulkhead, and the streams. */
    private String inUse() {
        return fixture.routeLimit.inUse() + " " + fixture.bulkhead.inUse() + " " + fixture.streams.inUse();
    }

    /** An event before the end of a call, the permits that it then holds, and how often it is served. */
    enum Event {
        NONE("1 1 0", 1),
        HELD_UP("0 0 1", 1),
        LEFT_BEHIND("1 0 1", 1),
        ROUTE_HANGS("1 0 0", 0),
        UPGRADED("1 0 0", 1),
        OVERDUE("1 1 0", 1);

        private final String held;
        private final int served;

        Event(String held, int served) {
            this.held = held;
            this.served = served;
        }
    }

    private void happen(Event event, Permits permits) {
        long now = fixture.now();
        switch (event) {
            case NONE -> {}
            case HELD_UP -> permits.moveHeldUp(Evidence.ANSWERED, SERVICE.toNanos(), now);
            case LEFT_BEHIND -> permits.moveLeftBehind(now);
            case ROUTE_HANGS -> permits.giveBackIfOf(route, now);
            case UPGRADED -> permits.upgraded(now);
            case OVERDUE -> permits.becameOverdue();
        }
    }

    @ParameterizedTest
    @EnumSource
    void givesEachPermitBackOnceHoweverOftenItIsReleased(Event event) {
        Permits permits = used();
        happen(event, permits);
        assertThat(inUse()).isEqualTo(event.held);

        // Another call holds one of each, and keeps it.
        fixture.bulkhead.acquireAnyway();
        fixture.streams.acquireAnyway();
        fixture.routeLimit.acquireAnyway();
        fixture.overdue.add();
        permits.markSample(Evidence.ANSWERED);
        permits.release(fixture.now());
        permits.release(fixture.now());

        assertThat(inUse()).isEqualTo("1 1 1");
        assertThat(fixture.overdue.held()).isOne();
        assertThat(fixture.observer.served).hasSize(event.served).allMatch(SERVICE::equals);
        assertThat(fixture.limit.ended).as("one sample").hasSize(1);
    }

    @ParameterizedTest
    @EnumSource
    void movesOnce(Event event) {
        Permits permits = used();
        happen(event, permits);
        fixture.streams.resize(3, 0);
        int streams = fixture.streams.inUse();

        boolean isMovable = permits.isMovable();
        assertThat(permits.moveHeldUp(Evidence.ANSWERED, SERVICE.toNanos(), fixture.now()))
                .isEqualTo(isMovable)
                .isEqualTo(event == Event.NONE || event == Event.OVERDUE);

        assertThat(fixture.streams.inUse()).isEqualTo(isMovable ? streams + 1 : streams);
        permits.release(fixture.now());
        assertThat(inUse()).isEqualTo("0 0 0");
    }

    @Test
    void holdsNothingAfterARefusal() {
        fixture.withWebSocket();
        fixture.streams.acquireAnyway();
        assertThat(acquire(permits())).isEqualTo(Refuse.STREAMS_FULL);
        assertThat(inUse()).isEqualTo("0 0 1");

        fixture.streams.release();
        fixture.takePermit();
        assertThat(acquire(permits())).as("the bulkhead is full").isEqualTo(Step.QUEUE);
        assertThat(inUse()).isEqualTo("0 1 0");

        fixture.routeLimit.acquireAnyway();
        assertThat(acquire(permits())).isEqualTo(Refuse.ROUTE_FULL);
        assertThat(inUse()).isEqualTo("1 1 0");
    }

    @Test
    void keepsThePermitThatWasGrantedBeforeARefusalUntilItsRelease() {
        fixture.takePermit();
        Permits permits = permits();
        fixture.routeLimit.acquireAnyway();

        assertThat(permits.granted(0, fixture.now())).isEqualTo(Refuse.ROUTE_FULL);
        assertThat(inUse()).isEqualTo("1 1 0");

        permits.release(fixture.now());
        assertThat(inUse()).isEqualTo("1 0 0");
        assertThat(fixture.observer.served).as("no attempt used it").isEmpty();
    }

    @Test
    void leavesNoDryRunBehindIfNoPermitIsLeftAtAll() {
        fixture.withoutEnforcement();
        for (int i = 0; i < QueueingBulkhead.LARGEST; i++) {
            fixture.bulkhead.acquireAnyway();
        }
        Permits permits = permits();

        assertThat(acquire(permits)).isEqualTo(Step.QUEUE);
        permits.release(fixture.now());

        assertThat(fixture.dryRun().inUse()).isZero();
    }
}
