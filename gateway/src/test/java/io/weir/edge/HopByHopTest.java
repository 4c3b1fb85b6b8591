package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HopByHopTest {

    private final HttpHeaders headers = new DefaultHttpHeaders();

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Connection",
                "Keep-Alive",
                "Proxy-Connection",
                "Proxy-Authorization",
                "Transfer-Encoding",
                "Upgrade",
                "Expect",
                "HTTP2-Settings",
                "x-http2-scheme",
                "x-http2-stream-id",
                "TE",
            })
    void removesHopByHopFields(String name) {
        headers.add(name, "x").add("X-Mine", "y").add(name.toUpperCase(Locale.ROOT), "z");

        HopByHop.strip(headers);

        assertThat(headers.names()).containsExactly("X-Mine");
    }

    @Test
    void removesFieldsThatConnectionNames() {
        headers.add("Connection", "close, X-One ,,x-two")
                .add("Connection", "keep-alive,\tX-Three")
                .add("X-One", "1")
                .add("X-Two", "2")
                .add("x-three", "3")
                .add("x-three", "3")
                .add("X-Four", "4");

        HopByHop.strip(headers);

        assertThat(headers.names()).containsExactly("X-Four");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Host",
                "Content-Length",
                "Content-Type",
                "Authorization",
                "Cookie",
                "Set-Cookie",
                "Cache-Control",
                "Via",
                "Forwarded",
                "X-Forwarded-For",
                "X-Forwarded-Proto",
                "X-Url-Scheme",
                "Front-End-Https",
                "X-Request-Id",
                "X-Request-Timeout",
                "grpc-timeout",
                "traceparent",
                "Trailer",
            })
    void keepsEndToEndFieldsThatConnectionNames(String name) {
        headers.add("Connection", name).add(name, "x");

        HopByHop.strip(headers);

        assertThat(headers.entries()).extracting(Object::toString).containsExactly(name + "=x");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"trailers|trailers", "Trailers, deflate|trailers", "gzip, trailers|trailers", "gzip|", "|"})
    void reducesTeToTrailers(String te, String kept) {
        headers.add("Connection", "TE").add("TE", te == null ? "" : te);

        HopByHop.strip(headers);

        assertThat(headers.get("te")).isEqualTo(kept);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "X-One|",
                "Close, X-One|close",
                "keep-alive, x-one, Upgrade, TE|keep-alive, upgrade",
                "Upgrade|Upgrade",
                "Authorization|"
            })
    void namesAFieldOnce(String connection, String kept) {
        headers.add("Connection", connection).add("Authorization", "a").add("X-One", "1");

        HopByHop.stripNamed(headers);

        assertThat(headers.get("connection")).isEqualTo(kept);
        assertThat(headers.contains("authorization")).isTrue();
        assertThat(headers.contains("x-one"))
                .isEqualTo(!connection.toLowerCase(Locale.ROOT).contains("x-one"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"Transfer-Encoding", "Content-Length", "Host", "Trailer", "TE"})
    void keepsWhatFramesAMessageAlthoughConnectionNamesIt(String name) {
        headers.add("Connection", name + ", keep-alive").add(name, "1");

        HopByHop.stripNamed(headers);

        assertThat(headers.get(name)).isEqualTo("1");
    }

    @Test
    void keepsOtherFieldsInTheirOrder() {
        headers.add("A", "1").add("Connection", "keep-alive").add("B", "2").add("a", "3");

        HopByHop.strip(headers);

        assertThat(headers.entries()).extracting(Object::toString).containsExactly("A=1", "B=2", "a=3");
    }

    @Test
    void appendsTheGatewayToVia() {
        headers.add("Via", "1.0 fred");

        Via.append(headers);

        assertThat(headers.getAll("via")).containsExactly("1.0 fred", "1.1 weir");
    }
}
