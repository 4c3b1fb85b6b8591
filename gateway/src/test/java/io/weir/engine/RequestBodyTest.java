package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.weir.body.OwnedBuffer;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.outcome.Reason;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscriber;

/** The signals of a caller's body and of the attempt that sends it, in each order. */
class RequestBodyTest extends RequestBodyTests {

    // ---------------------------------------------------------------- demand

    @Test
    void requestsOfTheCallerWhatTheAttemptHasRequested() {
        subscribe();
        assertThat(source.requests).isEmpty();

        sink.subscription().request(3);
        send("a");
        sink.subscription().request(2);

        assertThat(source.requests).containsExactly(3L, 2L);
        assertThat(sink.events).containsExactly("a");
        assertThat(body.receivedBytes()).isOne();
    }

    @Test
    void anAttemptThatTakesEverythingRequestsEverythingOnce() {
        subscribe(Long.MAX_VALUE);
        sink.subscription().request(Long.MAX_VALUE);
        for (int i = 0; i < 100; i++) {
            send("abc");
        }
        source.subscriber().onComplete();

        assertThat(source.requests).containsExactly(Long.MAX_VALUE);
        assertThat(sink.events).hasSize(101).endsWith("complete");
        assertThat(body.receivedBytes()).isEqualTo(300);
        assertThat(source.cancelled).isZero();
    }

    @Test
    void requestsWhatIsMissingIfTheCallersBodyIsSubscribedLater() {
        source.isSubscribedLater = true;
        subscribe(2);
        sink.subscription().request(1);
        assertThat(source.requests).isEmpty();

        source.subscribed();

        assertThat(source.requests).containsExactly(3L);
    }

    @Test
    void keepsAPartThatTheAttemptHasNotRequested() {
        subscribe(1);
        send("a");
        send("b");
        source.subscriber().onComplete();
        assertThat(sink.events).containsExactly("a");
        assertThat(body.heldBytes()).isOne();
        assertThat(body.hasEnded()).isFalse();

        sink.subscription().request(1);

        assertThat(sink.events).containsExactly("a", "b", "complete");
        assertThat(body.heldBytes()).isZero();
        assertThat(body.hasEnded()).isTrue();
    }

    /** The part arrives while the attempt has demand, but an earlier one is still held. */
    @Test
    void passesOnThePartsInTheirOrderIfTheAttemptRequestsWhileItReceives() {
        subscribe(1);
        send("a");
        send("x");
        send("y");
        sink.onNext = () -> {
            sink.onNext = () -> {};
            sink.subscription().request(2);
            send("last");
        };

        sink.subscription().request(1);

        assertThat(sink.events).as("small parts are copied together").containsExactly("a", "x", "ylast");
        assertThat(source.requests).containsExactly(1L, 1L);
    }

    @Test
    void anEmptyPartIsNotHeld() {
        subscribe();
        send("");
        send("");
        source.subscriber().onComplete();

        assertThat(sink.events).containsExactly("complete");
    }

    @Test
    void onlyOneAttemptCanSendTheBody() {
        subscribe(1);
        Sink second = new Sink();

        body.subscribe(second);

        assertThat(second.events).containsExactly("error a body can be sent once");
        send("a");
        assertThat(sink.events).containsExactly("a");
        assertThat(source.subscriptions).isOne();
    }

    @Test
    void noAttemptCanSendABodyThatIsReleased() {
        body.release();

        subscribe();

        assertThat(sink.events).containsExactly("error a body can be sent once");
        assertThat(source.subscriptions).isZero();
    }

    // ---------------------------------------------------------------- ownership

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void releasesAPartThatItOwnsOnceItIsPassedOnOrReleased(boolean isPassedOn) {
        subscribe(isPassedOn ? 1 : 0);
        ByteBuf owned = buffer("owned");

        source.subscriber().onNext(new OwnedBuffer(owned));
        assertThat(owned.refCnt()).as("held").isEqualTo(isPassedOn ? 0 : 1);
        body.release();

        assertThat(owned.refCnt()).isZero();
        assertThat(sink.events).isEqualTo(isPassedOn ? List.of("owned") : List.of());
    }

    @Test
    void takesTheBufferOfAContentObject() {
        subscribe(1);
        ByteBuf lent = buffer("content");

        source.subscriber().onNext(new DefaultHttpContent(lent));

        assertThat(sink.events).containsExactly("content");
        assertThat(lent.refCnt()).as("it is still the sender's").isOne();
        lent.release();
    }

    @Test
    void dropsPartsThatArriveAfterTheEnd() {
        subscribe(10);
        Subscriber<? super Object> late = source.subscriber();
        body.release();

        late.onNext(new OwnedBuffer(buffer("owned")));
        send("lent");
        late.onComplete();
        late.onError(new IOException("reset"));

        assertThat(sink.events).isEmpty();
        assertThat(body.receivedBytes()).isZero();
    }

    @Test
    void ignoresWhatArrivesAfterTheLastPart() {
        subscribe();
        send("held");
        source.subscriber().onComplete();

        send("more");
        source.subscriber().onError(new IOException("reset"));
        source.subscriber().onComplete();
        sink.subscription().request(5);

        assertThat(sink.events).containsExactly("held", "complete");
    }

    // ---------------------------------------------------------------- ends

    @Test
    void endsOnceInWhateverOrderItIsCancelledAndReleased() {
        subscribe(1);
        send("a");
        send("held");
        sink.subscription().cancel();
        sink.subscription().cancel();
        body.release();
        sink.subscription().request(5);

        assertThat(source.cancelled).isOne();
        assertThat(source.requests).containsExactly(1L);
        assertThat(sink.events).containsExactly("a");
        assertThat(body.hasEnded()).isTrue();
        assertThat(body.heldBytes()).isZero();
    }

    @Test
    void doesNotCancelABodyThatIsComplete() {
        subscribe();
        send("held");
        source.subscriber().onComplete();

        body.release();

        assertThat(source.cancelled).isZero();
        assertThat(sink.events).isEmpty();
    }

    @Test
    void cancelsABodyThatIsSubscribedAfterTheEnd() {
        source.isSubscribedLater = true;
        subscribe(1);
        body.release();

        source.subscribed();

        assertThat(source.cancelled).isOne();
        assertThat(source.requests).isEmpty();
    }

    /** The attempt cannot complete its request, so the bytes before the failure are of no use. */
    @Test
    void aFailureOvertakesThePartsThatAreHeld() {
        subscribe();
        send("held");

        source.subscriber().onError(new IOException("reset"));

        assertThat(sink.events).containsExactly("error reset");
        assertThat(body.heldBytes()).isZero();
        assertThat(body.hasEnded()).isTrue();
    }

    @Test
    void aFailureWhileTheAttemptReceivesAHeldPartOvertakesTheNextOne() {
        subscribe();
        send("x");
        send("y");
        sink.onNext = () -> {
            sink.subscription().request(5);
            source.subscriber().onError(new IOException("reset"));
        };

        sink.subscription().request(1);

        assertThat(sink.events).containsExactly("x", "error reset");
    }

    @Test
    void endsTheBodyIfTheAttemptCancelsWhileItReceivesAHeldPart() {
        subscribe();
        send("held");
        source.subscriber().onComplete();
        sink.onNext = () -> sink.subscription().cancel();

        sink.subscription().request(2);

        assertThat(sink.events).as("no completion").containsExactly("held");
    }

    /** Nobody reads the body: the call waits for its permit. */
    @Test
    void aCallerThatBreaksOffWhileItsCallWaitsHasLeft() {
        body.readAhead(reading());
        body.stopReadingAhead();

        source.subscriber().onError(new IOException("reset"));

        assertThat(hasCallerLeft()).isTrue();
        assertThat(fixture.ended.getFirst().reason()).isEqualTo(Reason.CLIENT_CLOSED);
        assertThat(fixture.attempts).isEmpty();
    }

    @Test
    void aCallerThatBreaksOffAfterTheEndHasNotLeft() {
        body.readAhead(reading());
        body.release();

        source.subscriber().onError(new IOException("reset"));

        assertThat(hasCallerLeft()).isFalse();
    }

    @Test
    void aBodyThatEndsWhileItsCallWaitsIsSentLater() {
        body.readAhead(reading());
        send("small");
        body.stopReadingAhead();
        source.subscriber().onComplete();
        assertThat(body.isReadAhead()).isTrue();

        subscribe(1);

        assertThat(sink.events).containsExactly("small", "complete");
        assertThat(source.subscriptions).isOne();
        assertThat(hasCallerLeft()).isFalse();
    }

    // ---------------------------------------------------------------- reading ahead

    @Test
    void readsOnePartAtATimeUntilEnoughIsRead() {
        source.script(() -> send(40), () -> send(59));
        assertThat(reading().begin()).isEqualTo(Step.WAIT);
        assertThat(source.requests).containsExactly(1L, 1L, 1L);
        assertThat(body.isReadAhead()).isFalse();
        assertThat(body.heldBytes()).isEqualTo(ExchangeFixture.READ_AHEAD_BYTES - 1);
    }

    @Test
    void asksForThePermitOnceEnoughIsRead() {
        source.script(() -> send(40), () -> send(60));

        assertThat(reading().begin()).isEqualTo(Step.REQUEST_PERMIT);

        assertThat(source.requests).containsExactly(1L, 1L);
        assertThat(body.isReadAhead()).isTrue();
    }

    @Test
    void asksForThePermitOnceTheBodyIsComplete() {
        source.script(() -> send(1), () -> source.subscriber().onComplete());

        assertThat(reading().begin()).isEqualTo(Step.REQUEST_PERMIT);
    }

    @ParameterizedTest
    @CsvSource({"0, false", "1, true"})
    void refusesABodyThatIsLargerThanAllowed(int more, boolean isRefused) {
        source.script(() -> send((int) ExchangeFixture.MAX_BODY_BYTES + more));

        Decision decision = reading().begin();

        assertThat(decision instanceof Refuse refuse && refuse.reason() == Reason.PAYLOAD_TOO_LARGE)
                .isEqualTo(isRefused);
        assertThat(decision == Step.REQUEST_PERMIT).isEqualTo(!isRefused);
        assertThat(source.cancelled).isEqualTo(isRefused ? 1 : 0);
        assertThat(body.heldBytes()).isEqualTo(isRefused ? 0 : (int) ExchangeFixture.MAX_BODY_BYTES);
    }

    @Test
    void leavesIfTheBodyBreaksOffWhileItIsReadAhead() {
        source.script(() -> source.subscriber().onError(new IOException("reset")));

        assertThat(reading().begin()).isEqualTo(Step.WAIT);

        assertThat(hasCallerLeft()).isTrue();
        assertThat(fixture.ended.getFirst().reason()).isEqualTo(Reason.CLIENT_CLOSED);
    }

    @Test
    void readsNoMoreIfAllBodiesTogetherExceedTheirLimit() {
        RequestBody other = new RequestBody(exchange);
        other.onNext(buffer("y".repeat(ExchangeFixture.READ_AHEAD_TOTAL_BYTES - 20)));
        source.script(() -> send(20), () -> send(1), () -> send(1));

        assertThat(reading().begin()).isEqualTo(Step.REQUEST_PERMIT);

        assertThat(source.requests).as("one byte above the limit").hasSize(2);
        assertThat(body.isReadAhead()).isTrue();
        other.release();
        buffers.getFirst().release();
    }

    @Test
    void aPartThatWasRequestedAheadCountsAmongThoseTheAttemptRequests() {
        body.readAhead(reading());
        body.stopReadingAhead();

        subscribe(3);

        assertThat(source.requests).containsExactly(1L, 2L);
        assertThat(source.subscriptions).isOne();
    }

    /** A refusal of the first backend may let the fallback's admission read ahead, too. */
    @Test
    void asksForAPartOnceEvenIfTwoPhasesReadAhead() {
        body.readAhead(reading());
        body.stopReadingAhead();

        body.readAhead(reading());

        assertThat(source.requests).containsExactly(1L);
    }

    @Test
    void requestsNothingMoreOnceThePhaseHasEnded() {
        body.readAhead(reading());
        body.stopReadingAhead();

        send("a");

        assertThat(source.requests).containsExactly(1L);
        assertThat(body.heldBytes()).isOne();
    }

    // ---------------------------------------------------------------- other threads

    @Test
    void partsOfAnotherThreadArriveOnTheEventLoopWithTheirBytes() {
        subscribe(2);
        channel.elsewhere(() -> {
            send("lent");
            source.subscriber().onNext(new OwnedBuffer(buffer("owned")));
            source.subscriber().onComplete();
        });
        assertThat(sink.events).isEmpty();
        assertThat(buffers).allSatisfy(buffer -> assertThat(buffer.refCnt()).isOne());

        channel.runPendingTasks();

        assertThat(sink.events).containsExactly("lent", "owned", "complete");
    }

    @Test
    void partsOfAnotherThreadAreReleasedIfTheBodyHasEndedMeanwhile() {
        subscribe(2);
        channel.elsewhere(() -> {
            send("lent");
            source.subscriber().onNext(new OwnedBuffer(buffer("owned")));
            source.subscriber().onError(new IOException("reset"));
        });
        body.release();

        channel.runPendingTasks();

        assertThat(sink.events).isEmpty();
    }

    @Test
    void demandAndCancellationOfAnotherThreadTakeEffectOnTheEventLoop() {
        channel.elsewhere(this::subscribe);
        assertThat(source.subscriptions).isZero();
        channel.runPendingTasks();
        assertThat(source.subscriptions).isOne();

        channel.elsewhere(() -> sink.subscription().request(1));
        assertThat(source.requests).isEmpty();
        channel.runPendingTasks();
        assertThat(source.requests).containsExactly(1L);

        channel.elsewhere(() -> sink.subscription().cancel());
        assertThat(source.cancelled).isZero();
        send("meanwhile");
        channel.runPendingTasks();
        assertThat(source.cancelled).isOne();
        assertThat(sink.events).containsExactly("meanwhile");
    }

    @Test
    void aFailureOfAnotherThreadArrivesOnTheEventLoop() {
        subscribe();
        channel.elsewhere(() -> source.subscriber().onError(new IOException("reset")));
        assertThat(sink.events).isEmpty();

        channel.runPendingTasks();

        assertThat(sink.events).containsExactly("error reset");
    }
}
