package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.weir.edge.Http1ConnectionState.Phase;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The table of a connection's phase and its events. */
class Http1ConnectionStateTest {

    private static final int MAX_UNREAD = EdgeRules.UNREAD_MAX_BYTES;

    private final Http1ConnectionState state = new Http1ConnectionState();

    private static HttpRequest request(HttpMethod method) {
        return new DefaultHttpRequest(HttpVersion.HTTP_1_1, method, "/orders");
    }

    private static HttpResponse response() {
        return new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
    }

    /** A request without a body. */
    private void get() {
        state.requestArrived(request(HttpMethod.GET));
        state.bodyArrived(0, true);
    }

    private void post(long contentLength) {
        HttpRequest request = request(HttpMethod.POST);
        request.headers().set(HttpHeaderNames.CONTENT_LENGTH, contentLength);
        state.requestArrived(request);
    }

    private boolean respond() {
        state.responseBegins(response());
        return state.responseEnds();
    }

    private boolean respondLast() {
        HttpResponse last = response();
        HttpUtil.setKeepAlive(last, false);
        state.responseBegins(last);
        return state.responseEnds();
    }

    private static Refusal refusal() {
        return Refusal.of(Reason.BAD_REQUEST, "malformed");
    }

    // ---------------------------------------------------------------- requests and responses

    @Test
    void isIdleOnlyOnceAllItsRequestsAreComplete() {
        assertThat(state.isOpen()).isTrue();
        assertThat(state.awaitsFirstRequest()).isTrue();
        assertThat(state.isIdle()).as("it was never used").isFalse();

        get();
        assertThat(state.awaitsFirstRequest()).isFalse();
        assertThat(state.isIdle()).isFalse();
        assertThat(respond()).isFalse();

        assertThat(state.isIdle()).isTrue();
        assertThat(state.awaitsFirstRequest()).isFalse();
        state.enter(Phase.LINGERING);
        assertThat(state.isIdle()).as("it is not open any more").isFalse();
    }

    @Test
    void aResponseBeforeTheEndOfTheBodyDoesNotMakeItIdle() {
        post(10);
        state.bodyArrived(4, false);
        respond();
        assertThat(state.isIdle()).isFalse();
        assertThat(state.awaitsEndOfAnsweredRequest()).isTrue();
        assertThat(state.isReadingBody()).isTrue();

        state.bodyArrived(6, true);

        assertThat(state.isIdle()).isTrue();
        assertThat(state.awaitsEndOfAnsweredRequest()).isFalse();
    }

    @Test
    void countsPipelinedRequests() {
        get();
        get();
        post(3);
        assertThat(state.openRequests()).isEqualTo(3);
        assertThat(state.awaitsEndOfAnsweredRequest()).isFalse();

        respond();
        respond();
        assertThat(state.openRequests()).isOne();
        assertThat(state.isIdle()).isFalse();
    }

    @Test
    void aRequestHeadEndsItsTimer() {
        state.headTimed();
        assertThat(state.isHeadTimed()).isTrue();

        get();

        assertThat(state.isHeadTimed()).isFalse();
    }

    @Test
    void knowsTheLengthOfTheBodyThatArrives() {
        assertThat(state.bodyLength()).isZero();
        post(7);
        assertThat(state.bodyLength()).isEqualTo(7);
        state.bodyArrived(7, true);
        assertThat(state.bodyLength()).isZero();
        assertThat(state.arrivingRequest()).isNull();

        HttpRequest chunked = request(HttpMethod.POST);
        HttpUtil.setTransferEncodingChunked(chunked, true);
        state.requestArrived(chunked);
        assertThat(state.bodyLength()).isEqualTo(-1);
        assertThat(state.arrivingRequest()).isSameAs(chunked);

        state.abandonBody();

        assertThat(state.isReadingBody()).isFalse();
    }

    @Test
    void isWritingFromTheHeadToTheEndOfAResponse() {
        get();
        assertThat(state.isWritingResponse()).isFalse();
        state.responseBegins(response());
        assertThat(state.isWritingResponse()).isTrue();
        assertThat(state.hasServed()).isFalse();

        assertThat(state.responseEnds()).isFalse();

        assertThat(state.isWritingResponse()).isFalse();
        assertThat(state.hasServed()).isTrue();
    }

    @Test
    void aResponseThatClosesIsTheLastOne() {
        get();
        get();

        assertThat(respond()).isFalse();
        assertThat(respondLast()).isTrue();
    }

    /** The version is the highest of the sender, so the end of the connection must be announced. */
    @ParameterizedTest
    @CsvSource({"keep-alive, keep-alive, false", ", close, true", "close, close, true"})
    void anHttp10ResponseIsWrittenInHttp11(@Nullable String connection, String written, boolean isLast) {
        get();
        HttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_0, HttpResponseStatus.OK);
        if (connection != null) {
            head.headers().set(HttpHeaderNames.CONNECTION, connection);
        }

        state.responseBegins(head);

        assertThat(head.protocolVersion()).isEqualTo(HttpVersion.HTTP_1_1);
        assertThat(head.headers().get(HttpHeaderNames.CONNECTION)).isEqualTo(written);
        assertThat(state.responseEnds()).isEqualTo(isLast);
    }

    @Test
    void theResponseToAHeadHasNoChunksAndTheNextOneKeepsThem() {
        state.requestArrived(request(HttpMethod.HEAD));
        state.bodyArrived(0, true);
        get();
        HttpResponse toHead = response();
        HttpUtil.setTransferEncodingChunked(toHead, true);
        HttpResponse toGet = response();
        HttpUtil.setTransferEncodingChunked(toGet, true);

        state.responseBegins(toHead);
        state.responseEnds();
        state.responseBegins(toGet);
        state.responseEnds();

        assertThat(toHead.headers().contains(HttpHeaderNames.TRANSFER_ENCODING)).isFalse();
        assertThat(toGet.headers().contains(HttpHeaderNames.TRANSFER_ENCODING)).isTrue();
    }

    // ---------------------------------------------------------------- the close

    @Test
    void ignoresWhatFollowsTheRequestThatAnnouncedTheClose() {
        post(5);
        state.closeRequested();
        assertThat(state.ignoresInput()).as("its body arrives").isFalse();
        assertThat(state.isBehindLastRequest()).isFalse();

        state.bodyArrived(5, true);

        assertThat(state.isBehindLastRequest()).isTrue();
        assertThat(state.ignoresInput()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Phase.class)
    void ignoresInputInEachPhaseBehindTheLastResponse(Phase phase) {
        state.enter(phase);

        assertThat(state.ignoresInput())
                .isEqualTo(
                        switch (phase) {
                            case OPEN, UPGRADED -> false;
                            case REFUSING, CLOSING, LINGERING -> true;
                        });
    }

    @Test
    void theResponseToTheRequestThatAnnouncedTheCloseMustBeTheLastOne() {
        get();
        get();
        state.closeRequested();
        assertThat(state.mustCloseAfterResponse())
                .as("another response is due first")
                .isFalse();

        respond();

        assertThat(state.mustCloseAfterResponse()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"0, false", "1, true"})
    void mustCloseIfMoreOfTheBodyIsToComeThanIsDropped(int more, boolean mustClose) {
        post(100 + MAX_UNREAD + more);
        state.bodyArrived(60, false);
        state.bodyArrived(40, false);

        assertThat(state.mustCloseAfterResponse()).isEqualTo(mustClose);
    }

    /** The rest of the body may arrive while the other response is written. */
    @Test
    void aLargeBodyBehindAnotherRequestDoesNotCloseYet() {
        get();
        post(10L * MAX_UNREAD);
        assertThat(state.mustCloseAfterResponse()).isFalse();

        respond();

        assertThat(state.mustCloseAfterResponse()).isTrue();
    }

    @Test
    void theNextBodyIsMeasuredAnew() {
        post(MAX_UNREAD);
        state.bodyArrived(MAX_UNREAD, true);
        respond();
        post(MAX_UNREAD + 1L);

        assertThat(state.mustCloseAfterResponse()).isTrue();
    }

    @Test
    void boundsTheUnreadBytesOfEachAnsweredRequest() {
        state.startCountingUnreadBytes();
        assertThat(state.exceedsUnreadLimit(MAX_UNREAD)).isFalse();
        assertThat(state.exceedsUnreadLimit(1)).isTrue();

        state.startCountingUnreadBytes();

        assertThat(state.exceedsUnreadLimit(MAX_UNREAD)).isFalse();
    }

    // ---------------------------------------------------------------- refusals

    @Test
    void aRefusalWaitsForTheEarlierResponsesAndIsTakenOnce() {
        get();
        get();
        Refusal refusal = refusal();
        state.refuse(refusal, 0);
        assertThat(state.phase()).isEqualTo(Phase.REFUSING);
        assertThat(state.takeDueRefusal()).isNull();
        respond();
        assertThat(state.takeDueRefusal()).isNull();
        respond();

        assertThat(state.takeDueRefusal()).isSameAs(refusal);
        assertThat(state.takeDueRefusal()).isNull();
    }

    @Test
    void aRefusalOfAnOpenRequestTakesTheTurnOfItsResponse() {
        get();
        post(10);
        Refusal refusal = refusal();
        state.refuse(refusal, 1);
        assertThat(state.takeDueRefusal()).isNull();

        respond();

        assertThat(state.takeDueRefusal()).isSameAs(refusal);
    }

    @Test
    void theLastResponseDropsARefusalThatWaits() {
        get();
        state.refuse(refusal(), 0);
        respondLast();

        state.lastResponseWritten();

        assertThat(state.phase()).isEqualTo(Phase.CLOSING);
        assertThat(state.takeDueRefusal()).isNull();
    }

    // ---------------------------------------------------------------- lingering

    @Test
    void anOpenConnectionLingersOnlyWhileTheBodyOfAnAnsweredRequestArrives() {
        assertThat(state.lingersOnClose()).isFalse();
        post(10);
        assertThat(state.lingersOnClose()).as("not answered").isFalse();
        respond();
        assertThat(state.lingersOnClose()).isTrue();
        state.bodyArrived(10, true);
        assertThat(state.lingersOnClose()).isFalse();
    }

    @Test
    void aClosingConnectionLingersIfInputMayBeUnread() {
        get();
        respondLast();
        state.lastResponseWritten();
        assertThat(state.lingersOnClose()).as("nothing is unread").isFalse();

        state.closeRequested();
        assertThat(state.lingersOnClose()).as("the caller may have sent more").isTrue();
    }

    @Test
    void aClosingConnectionLingersForPipelinedRequestsAndForTheRestOfABody() {
        get();
        get();
        respondLast();
        state.lastResponseWritten();
        assertThat(state.lingersOnClose()).as("a request has no response").isTrue();

        Http1ConnectionState withBody = new Http1ConnectionState();
        HttpRequest request = request(HttpMethod.POST);
        withBody.requestArrived(request);
        withBody.responseBegins(response());
        withBody.enter(Phase.CLOSING);
        assertThat(withBody.lingersOnClose()).as("the response is not complete").isFalse();
        withBody.responseEnds();
        assertThat(withBody.lingersOnClose()).as("the body arrives").isTrue();
        withBody.bodyArrived(1, true);
        assertThat(withBody.lingersOnClose()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"LINGERING, true", "REFUSING, false", "UPGRADED, false"})
    void otherPhasesLingerWhateverHasArrived(Phase phase, boolean lingers) {
        post(10);
        respond();
        state.enter(phase);

        assertThat(state.lingersOnClose()).isEqualTo(lingers);
    }
}
