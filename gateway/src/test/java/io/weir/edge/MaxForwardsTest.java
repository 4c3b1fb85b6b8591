package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MaxForwardsTest {

    @ParameterizedTest
    @CsvSource({
        "OPTIONS, 1, true, 0",
        "TRACE, 10, true, 9",
        "OPTIONS, 007, true, 6",
        "OPTIONS, 1000000000, true, 999999999",
        "OPTIONS, 99999999999999999999, true, 999999999",
        "OPTIONS, 0, false, 0",
        "TRACE, 000, false, 000",
        "OPTIONS, -1, true, -1",
        "OPTIONS, many, true, many",
        "OPTIONS, '', true, ''",
        "GET, 0, true, 0",
        "GET, 3, true, 3"
    })
    void countsTheGateway(String method, String received, boolean mayBeForwarded, String forwarded) {
        HttpHeaders head = new DefaultHttpHeaders().set(HttpHeaderNames.MAX_FORWARDS, received);

        assertThat(MaxForwards.lower(HttpMethod.valueOf(method), head)).isEqualTo(mayBeForwarded);
        assertThat(head.getAll(HttpHeaderNames.MAX_FORWARDS)).containsExactly(forwarded);
    }

    @Test
    void leavesRequestsAloneThatHaveNoSuchField() {
        HttpHeaders head = new DefaultHttpHeaders();

        assertThat(MaxForwards.lower(HttpMethod.OPTIONS, head)).isTrue();
        assertThat(head.isEmpty()).isTrue();
    }

    @Test
    void leavesSeveralFieldsAlone() {
        HttpHeaders head = new DefaultHttpHeaders().add("Max-Forwards", "0").add("Max-Forwards", "2");

        assertThat(MaxForwards.lower(HttpMethod.OPTIONS, head)).isTrue();
        assertThat(head.getAll(HttpHeaderNames.MAX_FORWARDS)).containsExactly("0", "2");
    }
}
