package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AcceptedHtmlTest {

    private static HttpHeaders accepting(String... values) {
        HttpHeaders head = new DefaultHttpHeaders();
        for (String value : values) {
            head.add(HttpHeaderNames.ACCEPT, value);
        }
        return head;
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8 | true
            text/html                                                       | true
            TEXT/HTML;charset=utf-8                                         | true
            application/xhtml+xml;q=0.1                                     | true
            application/json;q=0.5, text/html                               | true
            application/json, text/html                                     | false
            application/problem+json, text/html;q=0.9                       | false
            text/html;q=0                                                   | false
            */*                                                             | false
            text/*                                                          | false
            application/json                                                | false
            text/html, garbage                                              | false
            text/html;q=2                                                   | false
            """)
    void isPreferredWhereItIsNamedWithAHigherQualityThanJson(String accept, boolean isPreferred) {
        assertThat(AcceptedHtml.isPreferred(accepting(accept))).isEqualTo(isPreferred);
    }

    @Test
    void isNotPreferredWithoutAccept() {
        assertThat(AcceptedHtml.isPreferred(accepting())).isFalse();
    }

    @Test
    void eachLineCounts() {
        assertThat(AcceptedHtml.isPreferred(accepting("image/png", "text/html")))
                .isTrue();
        assertThat(AcceptedHtml.isPreferred(accepting("text/html", "application/json")))
                .isFalse();
    }
}
