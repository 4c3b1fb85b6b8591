package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PlainTextTest {

    /** A request is served without Spring's check of its target only if that check would pass. */
    @Test
    void everyPlainCharacterIsLegalInAUri() {
        for (char c = 0; c <= 0x100; c++) {
            if (PlainText.isTarget("/" + c)) {
                String target = "http://weir.test/" + c + "/x" + c + "?a=" + c;
                assertThatCode(() -> new URI(target)).as(target).doesNotThrowAnyException();
            }
            if (PlainText.isHost("" + c)) {
                String target = "http://a" + c + "80/";
                assertThatCode(() -> new URI(target)).as(target).doesNotThrowAnyException();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/orders/1", "/a-b_c.d~e;v=1/f,g", "/orders?id=1&q=a+b", "//orders", "/a:b@c"})
    void usualTargetsArePlain(String target) {
        assertThat(PlainText.isTarget(target)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/a%20b", "/a%zz", "/[1]", "/a b", "/\\", "/ä", "/?q=[1]", "/#a", "/?a|b", "/a\u0000"})
    void othersAreNot(String target) {
        assertThat(PlainText.isTarget(target)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"weir.test", "weir.test:8080", "10.0.0.1", "a-b.test"})
    void usualHostsArePlain(String host) {
        assertThat(PlainText.isHost(host)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"[::1]", "a_b", "a%zz", "a b", "a/b", "a@b", "é"})
    void otherHostsAreNot(String host) {
        assertThat(PlainText.isHost(host)).isFalse();
    }
}
