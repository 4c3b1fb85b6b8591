package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.server.PathContainer;

class RequestTargetTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/",
                "/a",
                "/a/b/c.html",
                "/a/",
                "/.well-known/acme",
                "/...",
                "/a..b/..c/c..",
                "/a%20b/%C3%A9/%25",
                "/a;v=1/a;b=..",
                "/~user/-._~!$&'()*+,;=:@",
            })
    void returnsTheSameInstanceForANormalisedTarget(String raw) {
        RequestTarget target = RequestTarget.parse(raw, false);

        assertThat(target.path()).isSameAs(raw);
        assertThat(target.pathAndQuery()).isSameAs(raw);
        assertThat(target.rawQuery()).isNull();
        assertThat(target.authority()).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "/a?,                 /a,      ''",
        "/a?b,                /a,      b",
        "/a?b=c&d=%zz,        /a,      b=c&d=%zz",
        "/a?b=/../c?d|e,      /a,      b=/../c?d|e",
        "/?a=//b,             /,       a=//b",
    })
    void keepsTheQueryUnchanged(String raw, String path, String query) {
        RequestTarget target = RequestTarget.parse(raw, false);

        assertThat(target.path()).isEqualTo(path);
        assertThat(target.rawQuery()).isEqualTo(query);
        assertThat(target.pathAndQuery()).isSameAs(raw);
    }

    @ParameterizedTest
    @CsvSource({
        "/%61%7E%2d,            /a~-",
        "/%c3%a9,               /%C3%A9",
        "/a%2b,                 /a%2B",
        "//,                    /",
        "//a///b//,             /a/b/",
        "/./a/./b/.,            /a/b/",
        "/a/b/../c,             /a/c",
        "/a/b/..,               /a/",
        "/a/b/../,              /a/",
        "/a/..,                 /",
        "/a/b/%2e%2E/c,         /a/c",
        "/a/b/.%2e/c,           /a/c",
        "/a/%2e/b,              /a/b",
        "/a//../b,              /b",
        "/a/b/c/./../../g,      /a/g",
        "/a<b>|c^`{d}[e],       /a%3Cb%3E%7Cc%5E%60%7Bd%7D%5Be%5D",
        "/a/%2e;b,              ",
        "/;jsessionid=1,        /;jsessionid=1",
        "/a/;v=1,               /a/;v=1",
    })
    void normalisesThePath(String raw, String expected) {
        if (expected == null) {
            assertThatThrownBy(() -> RequestTarget.parse(raw, false)).isInstanceOf(MalformedTargetException.class);
            return;
        }
        assertThat(RequestTarget.parse(raw, false).path()).isEqualTo(expected);
    }

    /** A servlet container drops such a segment, and with it what a rule about the path was about. */
    @ParameterizedTest
    @ValueSource(strings = {"/;/admin", "/;a=1/admin", "/a/;/../admin", "//;/admin", "/a/;b/c/;d", "/%2F;/a", "/;%2Fa"})
    void refusesSegmentsOfParametersOnlyButTheLast(String raw) {
        assertThatThrownBy(() -> RequestTarget.parse(raw, true))
                .isInstanceOf(MalformedTargetException.class)
                .hasMessageEndingWith("(expected: no segment that consists of parameters only)");
    }

    @Test
    void keepsTheQueryOfAPathThatIsNormalised() {
        RequestTarget target = RequestTarget.parse("//a/./b?c=//d", false);

        assertThat(target.path()).isEqualTo("/a/b");
        assertThat(target.rawQuery()).isEqualTo("c=//d");
        assertThat(target.pathAndQuery()).isEqualTo("/a/b?c=//d");
    }

    @ParameterizedTest
    @CsvSource({
        "/a?q=|^`{}\"<>\\[],        /a?q=%7C%5E%60%7B%7D%22%3C%3E%5C[]",
        "/a|b[1]?c=%zz&d=%20&e=%,  /a%7Cb%5B1%5D?c=%25zz&d=%20&e=%25",
        "/a\\b,                     /a\\b",
        "/a%zz,                     /a%zz",
        "/a#|,                      /a#%7C",
        "http://a|b/c|d?e|f,        http://a|b/c%7Cd?e%7Cf",
        "http://a?e|f,              http://a?e%7Cf",
        "a|b,                       a|b",
        "/a?b?c=/../%2e//|,         /a?b?c=/../%2e//%7C",
    })
    void encodesOnlyCharactersThatNoUriContains(String raw, String expected) {
        assertThat(TargetEncoder.encode(raw)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/a/./b//..?c=%2f;d['e']=!$&()*+,:@~", "http://a.example:80/b?c", "*", ""})
    void keepsATargetThatNeedsNoEncoding(String raw) {
        assertThat(TargetEncoder.encode(raw)).isSameAs(raw);
    }

    @ParameterizedTest
    @CsvSource({
        "/a//b/./c/?d=//e,  /a/b/c/,   /a//b/./c/",
        "/%61/%c3%a9,       /a/%C3%A9, /%61/%c3%a9",
        "/a/b?c,            /a/b,      /a/b",
        "/a/...//..b,       /a/.../..b, /a/...//..b",
    })
    void keepsTheReceivedPath(String raw, String path, String received) {
        RequestTarget target = RequestTarget.parse(raw, false);

        assertThat(target.path()).isEqualTo(path);
        assertThat(target.receivedPath()).isEqualTo(received);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/a/../b", "/a/%2e%2E/b", "/a/.%2e", "/a//../b", "/a/b/.."})
    void refusesToPreserveAPathWithDotDotSegments(String raw) {
        RequestTarget target = RequestTarget.parse(raw, true);

        assertThatThrownBy(target::receivedPath)
                .isInstanceOf(MalformedTargetException.class)
                .hasMessageEndingWith("(expected: no .., because the path is preserved)");
    }

    @ParameterizedTest
    @CsvSource({
        "http://a.example,               a.example,      /",
        "HTTP://a.example:8080/b//c?d,   a.example:8080, /b/c?d",
        "https://[2001:db8::1]:8443?b,   [2001:db8::1]:8443, /?b",
    })
    void reducesAbsoluteFormToOriginForm(String raw, String authority, String pathAndQuery) {
        RequestTarget target = RequestTarget.parse(raw, false);

        assertThat(target.authority()).isEqualTo(authority);
        assertThat(target.pathAndQuery()).isEqualTo(pathAndQuery);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "*",
                "a.example:443",
                "a/b",
                "ftp://a/b",
                "http:///b",
                "http://",
                "http://user@a/b",
                "http://a:b/c",
                "http://a:123456/c",
                "http://[::1/c",
                "http://a b/c",
                "?a",
            })
    void refusesOtherForms(String raw) {
        assertThatThrownBy(() -> RequestTarget.parse(raw, false))
                .isInstanceOf(MalformedTargetException.class)
                .hasMessageStartingWith("target: ")
                .hasMessageEndingWith("(expected: a path, or a URI of http or https with a host)");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '#',
            value = {
                "/a%2# path: /a%2 (expected: two hex digits after %)",
                "/a%# path: /a% (expected: two hex digits after %)",
                "/a%zz/b# path: /a%zz (expected: two hex digits after %)",
                "/a%2?b# path: /a%2 (expected: two hex digits after %)",
                "/a%00b# path: /a%00 (expected: no encoded control characters)",
                "/a%0d%0ab# path: /a%0d (expected: no encoded control characters)",
                "/a%7f# path: /a%7f (expected: no encoded control characters)",
                "/a\\b# path: /a\\ (expected: no backslash)",
                "/a%2fb# path: /a%2f (expected: no encoded slash or backslash)",
                "/a%5Cb# path: /a%5C (expected: no encoded slash or backslash)",
                "/a b# path: /a  (expected: visible ASCII characters, others percent-encoded)",
                "/a\u00e9# path: /a\u00e9 (expected: visible ASCII characters, others percent-encoded)",
                "/a?b c# query: /a?b  (expected: visible ASCII characters, others percent-encoded)",
                "/a?b\u00e9# query: /a?b\u00e9 (expected: visible ASCII characters, others percent-encoded)",
                "/..# path: /.. (expected: no .. above the root)",
                "/a/../../b# path: /a/../.. (expected: no .. above the root)",
                "/%2e%2e/a# path: /%2e%2e (expected: no .. above the root)",
                "/a/..;/b# path: /a/..; (expected: no dot segment with parameters or encoded slashes)",
                "/a/%2e%2e;x=1/b# path: /a/%2e%2e;x=1 (expected: no dot segment with parameters or encoded slashes)",
                "/a/.;/b# path: /a/.; (expected: no dot segment with parameters or encoded slashes)",
            })
    void namesTheErrorInTheMessage(String raw, String message) {
        assertThatThrownBy(() -> RequestTarget.parse(raw, false))
                .isInstanceOf(MalformedTargetException.class)
                .hasMessage(message.strip());
    }

    @ParameterizedTest
    @CsvSource({
        "/a#b,          path: /a# (expected: no fragment)",
        "/a?b#c?d,      query: /a?b# (expected: no fragment)",
        "/a/..#b,       path: /a/..# (expected: no fragment)",
        "http://a#b,    path: /# (expected: no fragment)",
    })
    void refusesAFragment(String raw, String message) {
        assertThatThrownBy(() -> RequestTarget.parse(raw, false))
                .isInstanceOf(MalformedTargetException.class)
                .hasMessage(message);
    }

    @Test
    void refusesEveryControlCharacterRawOrEncoded() {
        for (char c = 0; c < 0x20; c++) {
            String raw = "/a" + c;
            String encoded = "/a%%%02x".formatted((int) c);
            assertThatThrownBy(() -> RequestTarget.parse(raw, true)).isInstanceOf(MalformedTargetException.class);
            assertThatThrownBy(() -> RequestTarget.parse(encoded, true)).isInstanceOf(MalformedTargetException.class);
            assertThatThrownBy(() -> RequestTarget.parse("/?" + raw, true))
                    .isInstanceOf(MalformedTargetException.class);
        }
    }

    @Test
    void showsTheEndOfALongPathWithoutStackTrace() {
        assertThatThrownBy(() -> RequestTarget.parse("/" + "a".repeat(5000) + "%2", false))
                .hasMessage("path: …" + "a".repeat(62) + "%2 (expected: two hex digits after %)")
                .satisfies(e -> assertThat(e.getStackTrace()).isEmpty());
    }

    @ParameterizedTest
    @CsvSource({
        "/a%2fb,        /a%2Fb",
        "/a%5cb/../c,   /c",
        "/a%2F%2Fb,     /a%2F%2Fb",
        "/a%2F...,      /a%2F...",
    })
    void keepsEncodedSlashesIfAllowed(String raw, String expected) {
        assertThat(RequestTarget.parse(raw, true).path()).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/a%2F..%2Fb", "/..%2Fa", "/a%5C..", "/a%2F%2e%2e", "/a%2F.%2Fb", "/a%2F..;x%2Fb", "/..%2f"})
    void refusesDotSegmentsBesideAllowedEncodedSlashes(String raw) {
        assertThatThrownBy(() -> RequestTarget.parse(raw, true))
                .hasMessageEndingWith("(expected: no dot segment with parameters or encoded slashes)");
    }

    /** An accepted path has one spelling, stays below the root, and means the same to every reader. */
    @Test
    void neverReturnsAnAmbiguousPath() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        String[] pieces = {
            "/", "/", "/", ".", "..", "...", "%2e", "%2E", "%2f", "%5c", "%25", "%", "%2", "a", "b", ";", "=", "%3b",
            "%61", "%c3%a9", "<", "{", "[", "?", "#", ":", "@", "\\", " ", "%00", "~", "%7E"
        };
        int accepted = 0;
        for (int i = 0; i < 100_000; i++) {
            StringBuilder raw = new StringBuilder("/");
            for (int n = random.nextInt(12); n > 0; n--) {
                raw.append(pieces[random.nextInt(pieces.length)]);
            }
            boolean allow = random.nextBoolean();
            RequestTarget target;
            try {
                target = RequestTarget.parse(raw.toString(), allow);
            } catch (MalformedTargetException e) {
                continue;
            }
            accepted++;
            String path = target.path();
            String what = "seed " + seed + ": " + raw + " -> " + path;
            assertThat(RequestTarget.parse(path, allow).path()).as(what).isEqualTo(path);
            assertThat(path)
                    .as(what)
                    .doesNotContain("/../", "/./", "//")
                    .doesNotEndWith("/..")
                    .doesNotEndWith("/.");
            PathContainer parsed = PathContainer.parsePath(path);
            assertThat(parsed.value()).as(what).isEqualTo(path);
            assertThat(parsed.elements())
                    .as(what)
                    .extracting(PathContainer.Element::value)
                    .satisfies(values -> assertThat(String.join("", values)).isEqualTo(path))
                    .noneMatch(value -> value.equals(".") || value.equals(".."));
            assertThat(parsed.elements())
                    .as(what)
                    .filteredOn(PathContainer.PathSegment.class::isInstance)
                    .extracting(element -> ((PathContainer.PathSegment) element).valueToMatch())
                    .noneMatch(value -> ("/" + value.replace('\\', '/') + "/").matches(".*/\\.\\.?/.*"));
            URI uri = URI.create(path);
            assertThat(uri.getRawPath()).as(what).isEqualTo(path);
            assertThat(uri.normalize().getRawPath()).as(what).isEqualTo(path);
        }
        assertThat(accepted).isGreaterThan(10_000);
    }
}
