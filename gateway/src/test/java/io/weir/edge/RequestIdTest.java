package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestIdTest {

    @ParameterizedTest
    @ValueSource(strings = {"a", "0c2f9a6e-9c0e-4a5c-8d0f-5b3a1f6f8d10", "!~\"{}"})
    void keepsTheCallersId(String id) {
        assertThat(RequestId.of(headers(id))).isSameAs(id);
    }

    @Test
    void keepsTheLongestAllowedId() {
        assertThat(RequestId.of(headers("x".repeat(128)))).hasSize(128);
        assertThat(RequestId.of(headers("x".repeat(129)))).hasSize(32);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", "a\tb", "a\u007fb", "\u00e9"})
    void replacesAnIdThatIsNotVisibleAscii(String id) {
        assertThat(RequestId.of(headers(id))).matches("[0-9a-f]{32}");
    }

    @Test
    void createsANewIdPerRequest() {
        Set<String> ids = new HashSet<>();
        for (int i = 0; i < 1000; i++) {
            ids.add(RequestId.of(new DefaultHttpHeaders()));
        }

        assertThat(ids).hasSize(1000).allMatch(id -> id.matches("[0-9a-f]{32}"));
    }

    private static HttpHeaders headers(String id) {
        return DefaultHttpHeadersFactory.headersFactory()
                .withValidation(false)
                .newHeaders()
                .add("X-Request-Id", id);
    }
}
