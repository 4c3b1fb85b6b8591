package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.lastgood.AnswerSpace;
import io.weir.lastgood.LastGood;
import io.weir.lastgood.LastGoodMemoryProperties;
import io.weir.lastgood.LastGoodProperties;
import io.weir.lastgood.LastGoodRecording;
import io.weir.lastgood.LastGoodRequest;
import io.weir.lastgood.LastGoodStore;
import io.weir.outcome.Reason;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import org.springframework.util.unit.DataSize;
import reactor.core.publisher.Flux;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

/** The last good answer in each phase: the caller leaves, the deadline passes, the backend answers. */
class LastGoodAnswersTest {

    private static final Duration MAX_DRAIN = Duration.ofNanos(Backoff.MAX_DRAIN_NANOS);

    private final ExchangeFixture fixture = new ExchangeFixture().withLastGood();

    @Test
    void replacesARefusalAndKeepsItsReason() {
        fixture.start();
        fixture.attempt().fails();
        fixture.finish();
        assertReplaced(Reason.CONNECT_FAILED);
    }

    @Test
    void replacesARefusalAtTheDeadline() {
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.DEADLINE);
        assertThat(fixture.caller.events()).isEqualTo("answer 200");
        fixture.finish();
        assertReplaced(Reason.DEADLINE_EXCEEDED);
    }

    @Test
    void aCallerWhoLeavesBeforeItIsFlushedHasLeft() {
        fixture.start();
        fixture.attempt().fails();
        fixture.exchange().callerLeft();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
    }

    @ParameterizedTest
    @ValueSource(ints = {500, 503, 599})
    void replacesAFailureStatusAfterItsBody(int status) {
        fixture.start();
        FakeAttempt attempt = fixture.attempt().begins(status);
        assertThat(attempt.isDraining()).isTrue();
        assertThat(fixture.bulkhead.inUse()).isOne();
        attempt.answers();
        fixture.advance(Duration.ZERO);
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(attempt.cancelled).isZero();
        fixture.finish();
        assertReplaced(null);
    }

    @ParameterizedTest
    @ValueSource(ints = {200, 204, 304, 400, 404, 429, 499})
    void passesEveryOtherStatusOn(int status) {
        fixture.start();
        fixture.attempt().begins(status).answers();
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.record().replacement()).isNull();
        assertThat(fixture.record().status()).isEqualTo(status);
    }

    @Test
    void doesNotWaitForALargeOrSlowErrorPage() {
        fixture.start();
        FakeAttempt attempt = fixture.attempt().begins(503);
        fixture.advance(MAX_DRAIN);
        assertThat(attempt.cancelled).isOne();
        fixture.finish();
        assertReplaced(null);

        ExchangeFixture large = new ExchangeFixture().withLastGood().start();
        large.attempt()
                .begins(
                        503,
                        new DefaultHttpHeaders().setInt(HttpHeaderNames.CONTENT_LENGTH, Backoff.MAX_DRAINED_BYTES + 1));
        large.advance(Duration.ZERO);
        assertThat(large.caller.events()).isEqualTo("answer 200");
        large.finish();
        large.assertEndedCleanly();
    }

    @Test
    void replacesAFailureStatusWhoseBodyBreaksOff() {
        fixture.start();
        fixture.attempt().begins(503).fails();
        fixture.advance(Duration.ZERO);
        fixture.finish();
        assertReplaced(null);
    }

    @Test
    void aCallerWhoLeavesWhileTheErrorPageIsReadReleasesEverything() {
        fixture.start();
        FakeAttempt attempt = fixture.attempt().begins(503);
        fixture.exchange().callerLeft();
        assertThat(attempt.cancelled).isOne();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
        assertThat(fixture.caller.events()).isEqualTo("nothing");
    }

    @Test
    void theDeadlineMayPassWhileTheErrorPageIsRead() {
        fixture.start();
        fixture.advance(ExchangeFixture.DEADLINE.minusMillis(10));
        fixture.attempt().begins(503);
        fixture.advance(Duration.ofMillis(10));
        assertThat(fixture.caller.events()).isEqualTo("answer 200");
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(ExchangeOutcomes.of(fixture.record())).isEqualTo("fallback");
    }

    @Test
    void retriesFirst() {
        fixture.withRetry().start();
        fixture.attempt().begins(503).answers();
        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(fixture.attempts).hasSize(2);
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.record().replacement()).isNull();
    }

    @Test
    void replacesTheAnswerThatWasToBeRetried() {
        fixture.withRetry().start();
        fixture.attempt().begins(503).answers();
        fixture.takePermit().advance(ExchangeFixture.BACKOFF);
        fixture.advance(ExchangeFixture.DEADLINE);
        fixture.freePermit();
        fixture.finish();
        assertReplaced(null);
    }

    @Test
    void precedesAStaticFallback() {
        fixture.withStaticFallback().start();
        fixture.attempt().fails();
        assertThat(fixture.fallback().limit().inUse()).isZero();
        fixture.finish();
        assertReplaced(Reason.CONNECT_FAILED);
    }

    @Test
    void followsAFallbackBackendAndKeepsTheFirstReason() {
        fixture.withOtherBackend().start();
        fixture.attempt().fails();
        assertThat(fixture.attempts).hasSize(2);
        fixture.attempt().begins(503).answers();
        fixture.advance(Duration.ZERO);
        fixture.finish();
        assertReplaced(Reason.CONNECT_FAILED);
    }

    @Test
    void followsAFallbackBackendThatFails() {
        fixture.withOtherBackend().start();
        fixture.attempt().fails();
        fixture.attempt().connects().fails();
        fixture.finish();
        assertReplaced(Reason.CONNECT_FAILED);
    }

    @Test
    void isNotUsedForOtherRequestsAndReasons() {
        fixture.caller.method = HttpMethod.POST;
        fixture.start();
        fixture.attempt().fails();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connect-failed 502");

        ExchangeFixture forbidden = new ExchangeFixture().withLastGood().withAllowedNetworks("198.51.100.0/24");
        forbidden.start();
        forbidden.assertEndedCleanly();
        assertThat(forbidden.outcome()).isEqualTo("forbidden 403");

        ExchangeFixture overQuota =
                new ExchangeFixture().withLastGood().withRateLimit(1, true).useUpQuota();
        overQuota.start();
        overQuota.assertEndedCleanly();
        assertThat(overQuota.outcome()).isEqualTo("rate-limited 429");
    }

    // ---------------------------------------------------------------- recording

    private final LastGoodStore store =
            new LastGoodStore(new LastGoodMemoryProperties(DataSize.ofMegabytes(1)), () -> 0, () -> 0, Runnable::run);
    private final TestPublisher<Object> body = TestPublisher.create();

    /** The body of a chunked answer. */
    private Flux<Object> recorded(Publisher<?> source, HttpHeaders trailers) {
        LastGood lastGood = new LastGood(
                new LastGoodProperties(Duration.ofMinutes(10), DataSize.ofKilobytes(64), List.of()),
                new AnswerSpace("orders"),
                store,
                "");
        LastGoodRecording recording = Objects.requireNonNull(lastGood.record(
                new LastGoodRequest(HttpMethod.GET, "/", new DefaultHttpHeaders(), new DefaultHttpHeaders(), ""),
                200,
                new DefaultHttpHeaders().set("transfer-encoding", "chunked")));
        return LastGoodAnswers.recorded(source, recording, () -> trailers);
    }

    private void assertKept(int answers) {
        assertThat(store.entries()).isEqualTo(answers);
        assertThat(store.recordingBytes()).isZero();
    }

    private static ByteBuf part(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }

    @Test
    void keepsACompleteBodyAndPassesItOn() {
        StepVerifier.create(recorded(body, EmptyHttpHeaders.INSTANCE), 0)
                .thenRequest(2)
                .then(() -> body.assertMinRequested(2))
                .then(() -> body.next(part("one"), new DefaultHttpContent(part("two")))
                        .complete())
                .expectNextCount(2)
                .verifyComplete();
        assertKept(1);
    }

    @Test
    void dropsABodyWithTrailers() {
        StepVerifier.create(recorded(body, new DefaultHttpHeaders().set("grpc-status", "0")))
                .then(() -> body.next(part("one")).complete())
                .expectNextCount(1)
                .verifyComplete();
        assertKept(0);
    }

    @Test
    void dropsABodyThatFails() {
        StepVerifier.create(recorded(body, EmptyHttpHeaders.INSTANCE))
                .then(() -> body.next(part("one")).error(new IllegalStateException("lost")))
                .expectNextCount(1)
                .verifyErrorMessage("lost");
        assertKept(0);
    }

    @Test
    void dropsABodyThatIsCancelledAlsoIfItCompletesThen() {
        Publisher<Object> completing = receiver -> receiver.onSubscribe(new Subscription() {
            @Override
            public void request(long n) {
                receiver.onNext(part("one"));
            }

            @Override
            public void cancel() {
                receiver.onComplete();
            }
        });
        StepVerifier.create(recorded(completing, EmptyHttpHeaders.INSTANCE), 1)
                .expectNextCount(1)
                .thenCancel()
                .verify();
        assertKept(0);
    }

    private void assertReplaced(@Nullable Reason reason) {
        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("answer 200");
        assertThat(fixture.caller.answered).isEqualTo("known");
        assertThat(ExchangeOutcomes.of(fixture.record())).isEqualTo("fallback");
        assertThat(fixture.record().fallbackReason()).isEqualTo(reason);
        assertThat(fixture.record().reason()).isEqualTo(reason);
        assertThat(fixture.record().status()).isEqualTo(200);
        assertThat(fixture.record().answerBytes()).isEqualTo(5);
    }
}
