package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a caller counts as too slow with its body. */
class RequestBodyPaceTest extends RequestBodyTests {

    @Test
    void isIdleOnlyWhileItWaitsForTheCaller() {
        long idle = ExchangeFixture.BODY_IDLE.toNanos();
        subscribe();
        fixture.advance(Duration.ofMillis(300));
        assertThat(body.idleLeftNanos(fixture.now())).as("nothing is requested").isEqualTo(ExchangePhase.NEVER);

        sink.subscription().request(2);
        fixture.advance(Duration.ofMillis(600));
        assertThat(body.idleLeftNanos(fixture.now())).isEqualTo(idle - 600 * MILLIS);
        sink.subscription().request(1);
        assertThat(body.idleLeftNanos(fixture.now()))
                .as("more demand is no sign of life")
                .isEqualTo(idle - 600 * MILLIS);

        send("a");
        assertThat(body.idleLeftNanos(fixture.now())).as("a part is one").isEqualTo(idle);
        send("b");
        send("c");
        fixture.advance(Duration.ofSeconds(5));
        assertThat(body.idleLeftNanos(fixture.now()))
                .as("all that is requested has arrived")
                .isEqualTo(ExchangePhase.NEVER);
    }

    @Test
    void isNotIdleOnceTheBodyIsCompleteWhateverWasRequested() {
        body.readAhead(reading());
        send("held");
        assertThat(body.idleLeftNanos(fixture.now())).isEqualTo(SECOND);

        source.subscriber().onComplete();

        assertThat(body.idleLeftNanos(fixture.now())).isEqualTo(ExchangePhase.NEVER);
        assertThat(body.heldBytes()).isEqualTo(4);
    }

    /** The credit is a second; a byte is worth a tenth. */
    @Test
    void aCallerBelowTheMinimumRateUsesUpItsTime() {
        subscribe(10);
        fixture.advance(Duration.ofMillis(900));
        send("ab");
        assertThat(body.rateLeftNanos(fixture.now())).isEqualTo(300 * MILLIS);
        fixture.advance(Duration.ofMillis(200));
        assertThat(body.rateLeftNanos(fixture.now())).isEqualTo(100 * MILLIS);

        send("x".repeat(100));

        assertThat(body.rateLeftNanos(fixture.now()))
                .as("never more than the idle time-out")
                .isEqualTo(SECOND);
        source.subscriber().onComplete();
        assertThat(body.rateLeftNanos(fixture.now())).isEqualTo(ExchangePhase.NEVER);
        assertThat(body.idleLeftNanos(fixture.now())).isEqualTo(ExchangePhase.NEVER);
    }

    /** While the backend takes nothing, the gateway does not wait for the caller. */
    @Test
    void aCallerIsNotTooSlowWhileNothingIsRequestedOfIt() {
        subscribe(1);
        fixture.advance(Duration.ofMillis(500));
        send("a");
        fixture.advance(Duration.ofSeconds(10));
        assertThat(body.rateLeftNanos(fixture.now())).isEqualTo(ExchangePhase.NEVER);

        sink.subscription().request(1);

        assertThat(body.rateLeftNanos(fixture.now())).isEqualTo(600 * MILLIS);
        assertThat(body.idleLeftNanos(fixture.now())).isEqualTo(SECOND);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aConversationHasNoMinimumRate(boolean isGrpc) {
        if (isGrpc) {
            caller.headers.set("content-type", "application/grpc");
            fixture.withHttp2();
        } else {
            fixture.withStreamRoute();
        }
        exchange = exchange();
        body = new RequestBody(exchange);
        subscribe(1);
        fixture.advance(Duration.ofMillis(400));

        assertThat(body.isConversation()).isTrue();
        assertThat(body.rateLeftNanos(fixture.now())).isEqualTo(ExchangePhase.NEVER);
        assertThat(body.idleLeftNanos(fixture.now())).isEqualTo(600 * MILLIS);
    }
}
