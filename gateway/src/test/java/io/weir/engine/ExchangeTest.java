package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.body.Relay;
import io.weir.outcome.Reason;
import io.weir.testing.Leaks;
import java.nio.channels.ClosedChannelException;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The exchange as a state machine: every event in every phase, and every event after that. */
@ExtendWith(Leaks.class)
class ExchangeTest {

    /** A situation of an exchange, and the way to reach it. */
    @SuppressWarnings("ImmutableEnumChecker") // Functions without state.
    enum Situation {
        WAITING(() -> new ExchangeFixture().takePermit().start()),
        /** A granted permit is on its way. */
        GRANTED(() -> {
            ExchangeFixture fixture = WAITING.reach();
            fixture.freePermit();
            return fixture;
        }),
        CONNECTING(() -> new ExchangeFixture().withMeasuredPauses().start()),
        UPLOADING(() -> {
            ExchangeFixture fixture = new ExchangeFixture().withRequestBody().start();
            fixture.attempt().waitsForBody();
            return fixture;
        }),
        ASKING(() -> {
            ExchangeFixture fixture = new ExchangeFixture().start();
            fixture.attempt().connects();
            return fixture;
        }),
        /** The head of a small answer has arrived. */
        AGGREGATING(() -> {
            ExchangeFixture fixture = new ExchangeFixture().start();
            fixture.attempt().beginsSmallAnswer(200);
            return fixture;
        }),
        RETRYING(() -> {
            ExchangeFixture fixture = new ExchangeFixture().withRetry().start();
            fixture.attempt().fails();
            return fixture;
        }),
        /** The answer is retried; the rest of it has not arrived yet. */
        DRAINING(() -> {
            ExchangeFixture fixture = new ExchangeFixture().withRetry().start();
            fixture.attempt().begins(503);
            return fixture;
        }),
        /** After the backoff, another call has the permit. */
        WAITING_AGAIN(() -> {
            ExchangeFixture fixture = RETRYING.reach().takePermit();
            fixture.advance(ExchangeFixture.BACKOFF);
            return fixture;
        }),
        ANSWERING(() -> {
            ExchangeFixture fixture = new ExchangeFixture().start();
            fixture.attempt().begins(200);
            return fixture;
        }),
        /** The caller reads its answer too slowly. */
        HELD_UP(() -> {
            ExchangeFixture fixture = ANSWERING.reach();
            fixture.attempt().isHeldUp = true;
            return fixture;
        }),
        STREAMING(() -> {
            ExchangeFixture fixture = new ExchangeFixture().withStreamRoute().start();
            fixture.attempt().begins(200);
            return fixture;
        }),
        /** A handshake waits for a permit. */
        UPGRADE_WAITING(() -> new ExchangeFixture().withWebSocket().takePermit().start()),
        /** The backend has not answered the handshake yet. */
        UPGRADING(() -> {
            ExchangeFixture fixture = new ExchangeFixture().withWebSocket().start();
            fixture.attempt().connects();
            return fixture;
        }),
        TUNNEL(() -> {
            ExchangeFixture fixture = new ExchangeFixture().withWebSocket().start();
            fixture.attempt().opensTunnel();
            return fixture;
        }),
        FLUSHING(() -> {
            ExchangeFixture fixture = new ExchangeFixture().start();
            fixture.attempt().answers();
            return fixture;
        }),
        /** The static fallback is on its way to the caller. */
        STATIC(() -> {
            ExchangeFixture fixture = new ExchangeFixture().withStaticFallback().start();
            fixture.attempt().fails();
            return fixture;
        }),
        /** The fallback backend is called. */
        OTHER(() -> {
            ExchangeFixture fixture = new ExchangeFixture().withOtherBackend().start();
            fixture.attempt().fails();
            return fixture;
        });

        private final Supplier<ExchangeFixture> way;

        Situation(Supplier<ExchangeFixture> way) {
            this.way = way;
        }

        ExchangeFixture reach() {
            return way.get();
        }
    }

    /** An event that ends or changes an exchange. */
    @SuppressWarnings("ImmutableEnumChecker") // Functions without state.
    enum Event {
        LEAVES(fixture -> fixture.exchange().callerLeft()),
        ABANDONED(fixture -> fixture.exchange().abandoned(Reason.INTERNAL_ERROR)),
        // Before a connection is established, a shorter time-out would come first: the clock jumps.
        DEADLINE(fixture -> {
            if (!fixture.attempts.isEmpty()
                    && fixture.attempt().isConnected
                    && !fixture.attempt().isDraining()) {
                fixture.advance(ExchangeFixture.DEADLINE);
            } else {
                fixture.pause(ExchangeFixture.DEADLINE);
            }
        }),
        SHUTDOWN(fixture -> fixture.engine.endAll()),
        RESIZE(fixture -> fixture.bulkhead.resize(2, 2)),
        FAILS(fixture -> onAttempt(fixture, FakeAttempt::fails)),
        ANSWERS(fixture -> onAttempt(fixture, FakeAttempt::answers)),
        TOO_LARGE(fixture -> onAttempt(fixture, attempt -> attempt.losesUpload(new Relay.TooLarge(1)))),
        BREAKS_OFF(fixture -> onAttempt(fixture, attempt -> attempt.losesUpload(new ClosedChannelException()))),
        OPENS(fixture -> {
            if (fixture.caller.webSocket) {
                onAttempt(fixture, FakeAttempt::opensTunnel);
            }
        }),
        FLUSHED(fixture -> fixture.exchange().flushed()),
        CLOSED(fixture -> fixture.exchange().tunnelClosed());

        private final Consumer<ExchangeFixture> doing;

        Event(Consumer<ExchangeFixture> doing) {
            this.doing = doing;
        }

        void happen(ExchangeFixture fixture) {
            doing.accept(fixture);
            fixture.channel.runPendingTasks();
        }

        private static void onAttempt(ExchangeFixture fixture, Consumer<FakeAttempt> doing) {
            if (!fixture.attempts.isEmpty()) {
                doing.accept(fixture.attempt());
            }
        }
    }

    /**
     * Columns: situation, event, everything that the caller received, the recorded outcome, and the calls
     * that the breaker recorded as succeeded/failed. If an event does not end the exchange, the backend
     * answers afterwards, and the caller reads the answer.
     */
    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource(delimiter = '|', textBlock = """
            WAITING     | LEAVES     | nothing                  | client-closed 499     | 0/0
            WAITING     | ABANDONED  | nothing                  | internal-error 500    | 0/0
            WAITING     | DEADLINE   | refuse deadline-exceeded | deadline-exceeded 504 | 0/0
            WAITING     | SHUTDOWN   | refuse shutting-down     | shutting-down 503     | 0/0
            WAITING     | RESIZE     | answer 200               | 200                   | 1/0
            GRANTED     | LEAVES     | nothing                  | client-closed 499     | 0/0
            GRANTED     | ABANDONED  | nothing                  | internal-error 500    | 0/0
            GRANTED     | DEADLINE   | refuse deadline-exceeded | deadline-exceeded 504 | 0/0
            GRANTED     | SHUTDOWN   | refuse shutting-down     | shutting-down 503     | 0/0
            GRANTED     | RESIZE     | answer 200               | 200                   | 1/0
            CONNECTING  | LEAVES     | nothing                  | client-closed 499     | 0/0
            CONNECTING  | ABANDONED  | nothing                  | internal-error 500    | 0/0
            CONNECTING  | DEADLINE   | refuse deadline-exceeded | deadline-exceeded 504 | 0/0
            CONNECTING  | SHUTDOWN   | refuse shutting-down     | shutting-down 503     | 0/0
            CONNECTING  | RESIZE     | answer 200               | 200                   | 1/0
            CONNECTING  | FAILS      | refuse connect-failed    | connect-failed 502    | 0/1
            CONNECTING  | ANSWERS    | answer 200               | 200                   | 1/0
            UPLOADING   | LEAVES     | nothing                  | client-closed 499     | 0/0
            UPLOADING   | ABANDONED  | nothing                  | internal-error 500    | 0/0
            UPLOADING   | DEADLINE   | refuse client-too-slow   | client-too-slow 408   | 0/0
            UPLOADING   | SHUTDOWN   | refuse shutting-down     | shutting-down 503     | 0/0
            UPLOADING   | RESIZE     | answer 200               | 200                   | 1/0
            UPLOADING   | FAILS      | refuse connection-lost   | connection-lost 502   | 0/1
            UPLOADING   | ANSWERS    | answer 200               | 200                   | 1/0
            UPLOADING   | TOO_LARGE  | refuse payload-too-large | payload-too-large 413 | 0/0
            UPLOADING   | BREAKS_OFF | nothing                  | client-closed 499     | 0/0
            ASKING      | LEAVES     | nothing                  | client-closed 499     | 0/0
            ASKING      | ABANDONED  | nothing                  | internal-error 500    | 0/0
            ASKING      | DEADLINE   | refuse deadline-exceeded | deadline-exceeded 504 | 0/1
            ASKING      | SHUTDOWN   | refuse shutting-down     | shutting-down 503     | 0/0
            ASKING      | RESIZE     | answer 200               | 200                   | 1/0
            ASKING      | FAILS      | refuse connection-lost   | connection-lost 502   | 0/1
            ASKING      | FLUSHED    | answer 200               | 200                   | 1/0
            AGGREGATING | LEAVES     | nothing                  | client-closed 499     | 0/0
            AGGREGATING | ABANDONED  | nothing                  | internal-error 500    | 0/0
            AGGREGATING | DEADLINE   | refuse deadline-exceeded | deadline-exceeded 504 | 0/1
            AGGREGATING | SHUTDOWN   | refuse shutting-down     | shutting-down 503     | 0/0
            AGGREGATING | RESIZE     | answer 200               | 200                   | 1/0
            AGGREGATING | FAILS      | refuse connection-lost   | connection-lost 502   | 0/1
            AGGREGATING | ANSWERS    | answer 200               | 200                   | 1/0
            AGGREGATING | TOO_LARGE  | refuse payload-too-large | payload-too-large 413 | 0/0
            AGGREGATING | BREAKS_OFF | nothing                  | client-closed 499     | 0/0
            RETRYING    | LEAVES     | nothing                  | client-closed 499     | 0/1
            RETRYING    | ABANDONED  | nothing                  | internal-error 500    | 0/1
            RETRYING    | DEADLINE   | refuse connect-failed    | connect-failed 502    | 0/1
            RETRYING    | SHUTDOWN   | refuse connect-failed    | connect-failed 502    | 0/1
            DRAINING    | LEAVES     | nothing                  | client-closed 499     | 0/1
            DRAINING    | ABANDONED  | nothing                  | internal-error 500    | 0/1
            DRAINING    | DEADLINE   | refuse deadline-exceeded | deadline-exceeded 504 | 0/1
            DRAINING    | SHUTDOWN   | refuse shutting-down     | shutting-down 503     | 0/1
            WAITING_AGAIN | LEAVES   | nothing                  | client-closed 499     | 0/1
            WAITING_AGAIN | ABANDONED | nothing                 | internal-error 500    | 0/1
            WAITING_AGAIN | DEADLINE | refuse connect-failed    | connect-failed 502    | 0/1
            WAITING_AGAIN | SHUTDOWN | refuse connect-failed    | connect-failed 502    | 0/1
            WAITING_AGAIN | RESIZE   | answer 200               | 200                   | 1/1
            ANSWERING   | LEAVES     | begin 200                | client-closed 499     | 0/0
            ANSWERING   | ABANDONED  | begin 200                | internal-error 500    | 0/0
            ANSWERING   | DEADLINE   | begin 200, reset         | deadline-exceeded 200 | 0/1
            ANSWERING   | SHUTDOWN   | begin 200, reset         | shutting-down 200     | 0/0
            ANSWERING   | RESIZE     | begin 200                | 200                   | 1/0
            ANSWERING   | FAILS      | begin 200, reset         | connection-lost 200   | 0/1
            ANSWERING   | ANSWERS    | begin 200                | 200                   | 1/0
            ANSWERING   | TOO_LARGE  | begin 200, reset         | payload-too-large 200 | 0/0
            ANSWERING   | BREAKS_OFF | begin 200                | client-closed 499     | 0/0
            ANSWERING   | FLUSHED    | begin 200                | 200                   | 1/0
            HELD_UP     | LEAVES     | begin 200                | client-closed 499     | 0/0
            HELD_UP     | DEADLINE   | begin 200, reset         | client-too-slow 200   | 0/0
            HELD_UP     | FAILS      | begin 200, reset         | connection-lost 200   | 0/1
            STREAMING   | LEAVES     | begin 200                | client-closed 499     | 1/0
            STREAMING   | ABANDONED  | begin 200                | internal-error 500    | 1/0
            STREAMING   | DEADLINE   | begin 200                | 200                   | 1/0
            STREAMING   | SHUTDOWN   | begin 200, reset         | shutting-down 200     | 1/0
            STREAMING   | RESIZE     | begin 200                | 200                   | 1/0
            STREAMING   | FAILS      | begin 200, reset         | connection-lost 200   | 1/0
            STREAMING   | ANSWERS    | begin 200                | 200                   | 1/0
            UPGRADE_WAITING | LEAVES | nothing                  | client-closed 499     | 0/0
            UPGRADE_WAITING | DEADLINE | refuse deadline-exceeded | deadline-exceeded 504 | 0/0
            UPGRADE_WAITING | SHUTDOWN | refuse shutting-down   | shutting-down 503     | 0/0
            UPGRADING   | LEAVES     | nothing                  | client-closed 499     | 0/0
            UPGRADING   | ABANDONED  | nothing                  | internal-error 500    | 0/0
            UPGRADING   | DEADLINE   | refuse deadline-exceeded | deadline-exceeded 504 | 0/1
            UPGRADING   | SHUTDOWN   | refuse shutting-down     | shutting-down 503     | 0/0
            UPGRADING   | FAILS      | refuse connection-lost   | connection-lost 502   | 0/1
            UPGRADING   | ANSWERS    | answer 200               | 200                   | 1/0
            UPGRADING   | OPENS      | upgrade                  | 101                   | 1/0
            TUNNEL      | LEAVES     | upgrade                  | client-closed 499     | 1/0
            TUNNEL      | ABANDONED  | upgrade                  | internal-error 500    | 1/0
            TUNNEL      | DEADLINE   | upgrade                  | 101                   | 1/0
            TUNNEL      | SHUTDOWN   | upgrade                  | shutting-down 101     | 1/0
            TUNNEL      | RESIZE     | upgrade                  | 101                   | 1/0
            TUNNEL      | CLOSED     | upgrade                  | 101                   | 1/0
            FLUSHING    | LEAVES     | answer 200               | client-closed 499     | 1/0
            FLUSHING    | ABANDONED  | answer 200               | internal-error 500    | 1/0
            FLUSHING    | DEADLINE   | answer 200, reset        | client-too-slow 200   | 1/0
            FLUSHING    | SHUTDOWN   | answer 200               | 200                   | 1/0
            FLUSHING    | RESIZE     | answer 200               | 200                   | 1/0
            FLUSHING    | TOO_LARGE  | answer 200               | 200                   | 1/0
            FLUSHING    | BREAKS_OFF | answer 200               | 200                   | 1/0
            FLUSHING    | FLUSHED    | answer 200               | 200                   | 1/0
            STATIC      | LEAVES     | answer 200               | client-closed 499     | 0/1
            STATIC      | DEADLINE   | answer 200               | connect-failed 200    | 0/1
            STATIC      | SHUTDOWN   | answer 200               | connect-failed 200    | 0/1
            STATIC      | FLUSHED    | answer 200               | connect-failed 200    | 0/1
            OTHER       | LEAVES     | nothing                  | client-closed 499     | 0/1
            OTHER       | DEADLINE   | refuse connect-failed    | connect-failed 502    | 0/1
            OTHER       | SHUTDOWN   | refuse connect-failed    | connect-failed 502    | 0/1
            OTHER       | FAILS      | refuse connect-failed    | connect-failed 502    | 0/1
            OTHER       | ANSWERS    | answer 200               | 200                   | 0/1
            """)
    void endsOnce(Situation situation, Event event, String received, String outcome, String breakerCounts) {
        ExchangeFixture fixture = situation.reach();

        event.happen(fixture);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo(received);
        assertThat(fixture.outcome()).isEqualTo(outcome);
        assertThat(fixture.breakerCounts()).as("calls that succeeded/failed").isEqualTo(breakerCounts);
    }

    /** The caller may leave while a filter of the general door still runs on another thread. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void endsOnceWithoutAnAttemptIfItIsCancelledBeforeItsStart(boolean left) {
        ExchangeFixture fixture = new ExchangeFixture().create();
        if (left) {
            fixture.exchange().callerLeft();
        } else {
            fixture.exchange().abandoned(null);
        }
        assertThat(fixture.ended).isEmpty();
        assertThat(fixture.engine.inFlight()).isZero();

        fixture.start();

        fixture.assertEndedCleanly();
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.caller.events()).isEqualTo("nothing");
        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
    }

    static Stream<Arguments> eachEventInEachSituation() {
        return Arrays.stream(Situation.values())
                .flatMap(situation -> Arrays.stream(Event.values()).map(first -> Arguments.of(situation, first)));
    }

    /** In any order of two events the exchange ends once, and later events change nothing. */
    @ParameterizedTest(name = "{0}, {1}, then each")
    @MethodSource("eachEventInEachSituation")
    void releasesEverythingInAnyOrderOfTwoEvents(Situation situation, Event first) {
        for (Event second : Event.values()) {
            ExchangeFixture fixture = situation.reach();
            first.happen(fixture);
            second.happen(fixture);
            fixture.finish();
            Event.LEAVES.happen(fixture);
            fixture.assertEndedCleanly();
            String received = fixture.caller.events();
            String outcome = fixture.outcome();

            for (Event late : Event.values()) {
                late.happen(fixture);
            }

            fixture.assertEndedCleanly();
            assertThat(fixture.caller.events()).isEqualTo(received);
            assertThat(fixture.outcome()).isEqualTo(outcome);
        }
    }
}
