package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.limit.Limit.Evidence;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The answers by which an instance asks to be left alone, and those that end it. */
class PushbackEvidenceTest {

    private final ExchangeFixture fixture = new ExchangeFixture();

    private static HttpHeaders retryAfter(int seconds) {
        return new DefaultHttpHeaders().set("retry-after", seconds);
    }

    private void answers(int status, HttpHeaders head) {
        fixture.create().start();
        fixture.attempt().begins(status, head);
        fixture.finish();
    }

    private boolean isLeftAlone() {
        return fixture.health.pushback().isInForce(fixture.now());
    }

    @ParameterizedTest
    @CsvSource({"503, true", "500, false", "429, false", "200, false"})
    void isBegunByA503WithRetryAfter(int status, boolean begins) {
        answers(status, retryAfter(5));

        assertThat(isLeftAlone()).isEqualTo(begins);
        fixture.assertEndedCleanly();
    }

    @Test
    void isNotBegunByA503WithoutRetryAfter() {
        answers(503, new DefaultHttpHeaders());

        assertThat(isLeftAlone()).isFalse();
    }

    @Test
    void isBegunByThe429sOfSeveralCallersAndNotOfOne() {
        answers(429, retryAfter(5));
        fixture.advance(Duration.ofSeconds(1));
        answers(429, retryAfter(5));
        assertThat(isLeftAlone()).as("one caller").isFalse();

        fixture.caller.address = "192.0.2.9";
        answers(429, retryAfter(5));
        assertThat(isLeftAlone()).as("another one").isTrue();
    }

    @Test
    void is429sOwnWhileOthersAreAnswered() {
        answers(429, retryAfter(5));
        fixture.advance(Duration.ofSeconds(1));
        answers(200, new DefaultHttpHeaders());
        fixture.caller.address = "192.0.2.9";

        answers(429, retryAfter(5));

        assertThat(isLeftAlone()).isFalse();
    }

    @Test
    void endsWithAGoodAnswerToALaterCall() {
        answers(503, retryAfter(5));
        fixture.advance(Duration.ofMillis(1));

        answers(200, new DefaultHttpHeaders());

        assertThat(isLeftAlone()).isFalse();
    }

    @Test
    void doesNotEndWithACallThatFails() {
        answers(503, retryAfter(5));
        fixture.advance(Duration.ofMillis(1));
        answers(503, new DefaultHttpHeaders());
        answers(429, retryAfter(1));
        fixture.create().start();
        fixture.attempt().begins(200).fails();

        assertThat(isLeftAlone()).isTrue();
    }

    @Test
    void isNotEndedByACallerWhoLeaves() {
        answers(503, retryAfter(5));
        fixture.advance(Duration.ofMillis(1));
        fixture.create().start();
        fixture.attempt().connects();
        fixture.exchange().callerLeft();

        assertThat(isLeftAlone()).isTrue();
    }

    // ---------------------------------------------------------------- gRPC

    private static HttpHeaders grpc(int status, int millis) {
        return new DefaultHttpHeaders().set("grpc-status", status).set("grpc-retry-pushback-ms", millis);
    }

    private static final String TABLE = """
            14, 5000, true,  true,  SHED
            14, -1,   true,  false, ANSWERED
            14, 5000, false, false, ANSWERED
            8,  5000, true,  false, QUOTA
            5,  5000, true,  false, ANSWERED
            """;

    @ParameterizedTest
    @CsvSource(textBlock = TABLE)
    void isBegunByGrpcsPushbackInTheHead(int status, int millis, boolean isHttp2, boolean begins, Evidence expected) {
        withHttp2(isHttp2);
        answers(200, grpc(status, millis));

        assertThat(isLeftAlone()).isEqualTo(begins);
        assertThat(fixture.limit.ended).containsExactly(expected);
        fixture.assertEndedCleanly();
    }

    @ParameterizedTest
    @CsvSource(textBlock = TABLE)
    void isBegunByGrpcsPushbackInTheTrailers(
            int status, int millis, boolean isHttp2, boolean begins, Evidence expected) {
        withHttp2(isHttp2);
        fixture.create().start();
        fixture.attempt().begins(200);
        fixture.attempt().answers(grpc(status, millis));
        fixture.finish();

        assertThat(isLeftAlone()).isEqualTo(begins);
        assertThat(fixture.limit.ended).containsExactly(expected);
        fixture.assertEndedCleanly();
    }

    private void withHttp2(boolean isHttp2) {
        if (isHttp2) {
            fixture.withHttp2();
        }
    }
}
