package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The hashes of requests by a header, a cookie, or the caller's address. */
class HashKeyTest {

    private static final long SESSION = HashKey.hash("s1");

    private static long hash(String key, String... fields) {
        HttpHeaders head = new DefaultHttpHeaders();
        for (int i = 0; i < fields.length; i += 2) {
            head.add(fields[i], fields[i + 1]);
        }
        return HashKey.of(key).hash(head, () -> "192.0.2.1");
    }

    @Test
    void hashesAHeader() {
        assertThat(hash("header:X-User", "x-user", "s1")).isEqualTo(SESSION);
        assertThat(hash("header:X-User", "x-user", "s2")).isNotEqualTo(SESSION).isNotEqualTo(HashKey.NONE);
        assertThat(hash("header:X-User", "X-User", "s1", "X-User", "s2"))
                .as("the first value")
                .isEqualTo(SESSION);
        assertThat(hash("header:X-User", "x-user", "")).isEqualTo(HashKey.NONE);
        assertThat(hash("header:X-User")).isEqualTo(HashKey.NONE);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"SID=s1", "a=b; SID=s1", "SID=s1; a=b", "XSID=no; SID=s1; SID=s2", "SID; SID=s1", "a;; SID=s1"})
    void hashesACookie(String field) {
        assertThat(hash("cookie:SID", "Cookie", field)).isEqualTo(SESSION);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "SID", "SID=", "sid=s1", "XSID=s1", "SIDX=s1", "a=SID=s1", "SI"})
    void hashesNoOtherCookie(String field) {
        assertThat(hash("cookie:SID", "Cookie", field)).isEqualTo(HashKey.NONE);
    }

    @Test
    void findsACookieInAnyField() {
        assertThat(hash("cookie:SID", "cookie", "a=b", "cookie", "SID=s1")).isEqualTo(SESSION);
        assertThat(hash("cookie:SID")).isEqualTo(HashKey.NONE);
    }

    @Test
    void hashesTheCallersAddress() {
        assertThat(hash("client-address")).isEqualTo(HashKey.hash("192.0.2.1"));
        assertThat(HashKey.of("client-address").hash(new DefaultHttpHeaders(), () -> ""))
                .isEqualTo(HashKey.NONE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "header:", "cookie:", "cookie:a b", "query:user", "Client-Address"})
    void rejectsOtherKeys(String text) {
        assertThatThrownBy(() -> HashKey.of(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("hash-key: " + text + " (expected: client-address, header:NAME or cookie:NAME)");
    }

    @Test
    void spreadsTheFractionsEvenly() {
        Integer[] tenths = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        int[] both = new int[1];
        for (int i = 0; i < 10_000; i++) {
            long hash = HashKey.hash("user-" + i);
            tenths[(int) (10 * HashKey.fraction(hash, 1))]++;
            both[0] += HashKey.fraction(hash, 1) < 0.5 && HashKey.fraction(hash, 2) < 0.5 ? 1 : 0;
        }
        assertThat(tenths).allSatisfy(count -> assertThat(count).isBetween(880, 1_120));
        assertThat(both[0]).as("independent salts").isBetween(2_300, 2_700);
    }
}
