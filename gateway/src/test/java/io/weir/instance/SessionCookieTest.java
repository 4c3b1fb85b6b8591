package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SessionCookieTest {

    private static final SessionCookieProperties PROPERTIES =
            new SessionCookieProperties("SESSION", Duration.ofHours(1));
    private static final List<String> ADDRESSES =
            IntStream.range(0, 50).mapToObj(i -> "http://10.0.0." + i + ":8080").toList();

    private final SessionCookie cookie = new SessionCookie(PROPERTIES, ADDRESSES);

    private static HttpHeaders request(String cookies) {
        return new DefaultHttpHeaders().add("Cookie", cookies);
    }

    private static String valueOf(SessionCookie cookie, int instance) {
        HttpHeaders answer = new DefaultHttpHeaders();
        cookie.add(answer, instance, false);
        return answer.get("set-cookie").split("[=;]")[1];
    }

    @Test
    void leadsToItsInstance() {
        for (int i = 0; i < ADDRESSES.size(); i++) {
            assertThat(cookie.instance(request("a=b; SESSION=" + valueOf(cookie, i) + "; c=d")))
                    .isEqualTo(i);
        }
        assertThat(valueOf(cookie, 1)).matches("[0-9a-f]{16}").isNotEqualTo(valueOf(cookie, 1));
    }

    /** Over HTTP/2, each cookie may have a field of its own. */
    @Test
    void isFoundInAnyField() {
        assertThat(cookie.instance(request("a=b").add("Cookie", "SESSION=" + valueOf(cookie, 7))))
                .isEqualTo(7);
    }

    @Test
    void staysWhenInstancesComeAndLeave() {
        String third = valueOf(cookie, 3);
        SessionCookie other =
                new SessionCookie(PROPERTIES, ADDRESSES.subList(2, 40).reversed());

        assertThat(other.instance(request("SESSION=" + third))).isEqualTo(36);
        assertThat(other.instance(request("SESSION=" + valueOf(cookie, 0)))).isEqualTo(SessionCookie.NONE);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "SESSION",
                "SESSION=",
                "SESSION=0123456789abcdef",
                "SESSION=0123456789abcdeg",
                "SESSION=0123456789abcdef0",
                "SESSIONS=1",
                "session=1"
            })
    void leadsNowhereOtherwise(String cookies) {
        assertThat(cookie.instance(request(cookies))).isEqualTo(SessionCookie.NONE);
    }

    @Test
    void hasTheAttributesOfASession() {
        HttpHeaders answer = new DefaultHttpHeaders().add("Set-Cookie", "own=1");
        new SessionCookie(PROPERTIES, ADDRESSES, () -> 7).add(answer, 0, true);
        new SessionCookie(new SessionCookieProperties("S", null), ADDRESSES, () -> 7).add(answer, 0, false);

        assertThat(answer.getAll("set-cookie"))
                .hasSize(3)
                .startsWith("own=1")
                .satisfies(all -> assertThat(all.get(1))
                        .matches("SESSION=00000007[0-9a-f]{8}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax; Secure"))
                .satisfies(
                        all -> assertThat(all.get(2)).matches("S=00000007[0-9a-f]{8}; Path=/; HttpOnly; SameSite=Lax"));
    }
}
