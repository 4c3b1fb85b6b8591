package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http2.Http2Error;
import org.junit.jupiter.api.Test;

class Http2StreamHistoryTest {

    private final Http2StreamHistory history = new Http2StreamHistory();

    @Test
    void acceptsTrailersOfAnOpenStream() {
        assertThat(history.headers(1, false)).isNull();
        assertThat(history.headers(3, true)).isNull();
        assertThat(history.headers(1, true)).isNull();
    }

    @Test
    void refusesHeadersOfAStreamThatItsHeadersEnded() {
        history.headers(1, true);
        assertThat(history.headers(1, true)).isEqualTo(Http2Error.STREAM_CLOSED);
    }

    @Test
    void refusesHeadersOfAStreamThatItsBodyEnded() {
        history.headers(1, false);
        history.dataEnds(1);
        assertThat(history.headers(1, false)).isEqualTo(Http2Error.STREAM_CLOSED);
    }

    @Test
    void refusesAStreamBelowTheHighestThatWasNeverOpened() {
        history.headers(5, true);
        assertThat(history.headers(3, true)).isEqualTo(Http2Error.PROTOCOL_ERROR);
        assertThat(history.headers(1, true)).isEqualTo(Http2Error.PROTOCOL_ERROR);
    }

    @Test
    void leavesStreamsOfTheServerAndDataOfUnknownStreamsToTheCodec() {
        assertThat(history.headers(2, true)).isNull();
        history.dataEnds(7);
        history.dataEnds(0);
        assertThat(history.headers(7, false)).isNull();
        assertThat(history.headers(7, true)).isNull();
    }

    @Test
    void remembersTheStreamsThatTheGatewayHasAnsweredOrReset() {
        history.headers(1, false);
        history.headers(3, false);
        history.headers(5, false);
        assertThat(history.reset(1)).isTrue();
        history.answered(3);
        assertThat(history.isReset(1)).isTrue();
        assertThat(history.isAnswered(1)).isFalse();
        assertThat(history.isReset(3)).isFalse();
        assertThat(history.isAnswered(3)).isTrue();
        assertThat(history.isAnswered(5)).isFalse();
    }

    @Test
    void forgetsTheResetsOfOldStreams() {
        history.headers(1, false);
        history.reset(1);
        history.headers(2 * Http2StreamHistory.STREAMS + 1, false);
        assertThat(history.isReset(1)).isFalse();
        assertThat(history.isReset(2 * Http2StreamHistory.STREAMS + 1)).isFalse();
        assertThat(history.reset(1)).isFalse();
        assertThat(history.reset(2)).isFalse();
        assertThat(history.reset(2 * Http2StreamHistory.STREAMS + 3)).isFalse();
    }

    @Test
    void judgesOnlyTheLatestStreams() {
        for (int id = 1; id <= 2 * Http2StreamHistory.STREAMS + 1; id += 2) {
            assertThat(history.headers(id, true)).isNull();
        }
        assertThat(history.headers(1, true)).isNull();
        assertThat(history.headers(3, true)).isEqualTo(Http2Error.STREAM_CLOSED);
        // A jump beyond the window forgets all of it.
        int far = 1_000_001;
        assertThat(history.headers(far, false)).isNull();
        assertThat(history.headers(far - 2, true)).isEqualTo(Http2Error.PROTOCOL_ERROR);
        assertThat(history.headers(far, true)).isNull();
        assertThat(history.headers(Integer.MAX_VALUE, true)).isNull();
        assertThat(history.headers(Integer.MAX_VALUE, true)).isEqualTo(Http2Error.STREAM_CLOSED);
    }
}
