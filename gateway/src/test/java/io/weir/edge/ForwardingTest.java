package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ForwardingTest {

    private final Forwarding forwarding = new Forwarding(TestEdgeProperties.trusting("10.0.0.0/8", "fd00::/8"));
    private final InetSocketAddress stranger = peer("203.0.113.7");
    private final InetSocketAddress proxy = peer("10.0.0.1");

    @Test
    void writesThePeersAddress() {
        HttpHeaders head = new DefaultHttpHeaders();

        forwarding.write(head, head, stranger, "https", "shop.example");

        assertThat(head.entries())
                .extracting(Object::toString)
                .containsExactlyInAnyOrder(
                        "x-forwarded-for=203.0.113.7",
                        "x-forwarded-proto=https",
                        "x-forwarded-host=shop.example",
                        "x-forwarded-port=443",
                        "forwarded=for=203.0.113.7;host=shop.example;proto=https");
    }

    @ParameterizedTest
    @CsvSource({
        "203.0.113.7, '', 203.0.113.7",
        "203.0.113.7, 198.51.100.9, 203.0.113.7",
        "10.0.0.1, 198.51.100.9, 198.51.100.9",
        "10.0.0.1, '198.51.100.9, 203.0.113.7', 203.0.113.7",
        "10.0.0.1, '', 10.0.0.1",
        "2001:db8:1:2:3:4:5:6, '', 2001:db8:1:2::/64",
        "10.0.0.1, 2001:db8:1:2::9, 2001:db8:1:2::/64"
    })
    void knowsTheCallersNetwork(String peer, String forwardedFor, String expected) {
        HttpHeaders head = new DefaultHttpHeaders();
        if (!forwardedFor.isEmpty()) {
            head.set("X-Forwarded-For", forwardedFor);
        }

        assertThat(forwarding.callerNetwork(head, peer(peer))).isEqualTo(expected);
    }

    @Test
    void believesAFieldOnlyFromATrustedProxyThatSetsItAlone() {
        HttpHeaders head = new DefaultHttpHeaders().add("X-Tenant", "a".repeat(200));

        assertThat(forwarding.trustedValue(head, proxy, "x-tenant")).isEqualTo("a".repeat(128));
        assertThat(forwarding.trustedValue(head, stranger, "x-tenant")).isNull();
        assertThat(forwarding.trustedValue(head, proxy, "x-other")).isNull();
        head.add("X-Tenant", "forged");
        assertThat(forwarding.trustedValue(head, proxy, "x-tenant")).isNull();
        head.set("X-Tenant", "");
        assertThat(forwarding.trustedValue(head, proxy, "x-tenant")).isNull();
    }

    @Test
    void quotesValuesThatAreNoTokens() {
        HttpHeaders head = new DefaultHttpHeaders();

        forwarding.write(head, head, peer("2001:db8::1"), "http", "shop.example:8080");

        assertThat(head.get("forwarded")).isEqualTo("for=\"[2001:db8::1]\";host=\"shop.example:8080\";proto=http");
        assertThat(head.get("x-forwarded-for")).isEqualTo("2001:db8::1");
        assertThat(head.get("x-forwarded-port")).isEqualTo("8080");
    }

    @Test
    void dropsFieldsOfUntrustedPeers() {
        HttpHeaders fromCaller = new DefaultHttpHeaders()
                .add("X-Forwarded-For", "1.1.1.1")
                .add("X-Forwarded-For", "2.2.2.2")
                .add("X-Forwarded-Proto", "https")
                .add("X-Forwarded-Host", "evil.example")
                .add("X-Forwarded-Port", "1")
                .add("X-Forwarded-Prefix", "/admin")
                .add("X-Forwarded-Ssl", "on")
                .add("X-Forwarded-Protocol", "ssl")
                .add("X-Url-Scheme", "https")
                .add("Front-End-Https", "on")
                .add("X-Real-IP", "1.1.1.1")
                .add("Forwarded", "for=1.1.1.1");
        HttpHeaders toBackend = new DefaultHttpHeaders().add(fromCaller);

        forwarding.write(toBackend, fromCaller, stranger, "http", "shop.example");

        assertThat(toBackend.entries())
                .extracting(Object::toString)
                .containsExactlyInAnyOrder(
                        "x-forwarded-for=203.0.113.7",
                        "x-forwarded-proto=http",
                        "x-forwarded-host=shop.example",
                        "x-forwarded-port=80",
                        "forwarded=for=203.0.113.7;host=shop.example;proto=http");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "X_Forwarded_For",
                "x_forwarded-for",
                "X.Forwarded.For",
                "X-Forwarded_Proto",
                "X_FORWARDED_HOST",
                "x_forwarded_port",
                "X_Forwarded_Prefix",
                "X_Forwarded_Ssl",
                "X_Url_Scheme",
                "Front_End_Https",
                "X_Real_IP"
            })
    void dropsOtherSpellingsOfEveryPeer(String name) {
        for (InetSocketAddress peer : List.of(stranger, proxy)) {
            HttpHeaders head = new DefaultHttpHeaders().add(name, "1.1.1.1").add("X_Forwarded", "kept");

            forwarding.write(head, head, peer, "https", "shop.example");

            assertThat(head.contains(name)).isFalse();
            assertThat(head.get("X_Forwarded")).isEqualTo("kept");
            assertThat(head.get("X-Forwarded-For")).isEqualTo(peer.getAddress().getHostAddress());
        }
    }

    @Test
    void keepsFieldsOfTrustedProxiesAndAppendsTheirAddress() {
        HttpHeaders fromCaller = new DefaultHttpHeaders()
                .add("X-Forwarded-For", "203.0.113.7")
                .add("X-Forwarded-For", "10.9.9.9")
                .add("X-Forwarded-Proto", "https")
                .add("X-Forwarded-Host", "shop.example")
                .add("X-Forwarded-Prefix", "/shop")
                .add("Forwarded", "for=203.0.113.7;proto=https");
        HttpHeaders toBackend = new DefaultHttpHeaders().add(fromCaller);

        forwarding.write(toBackend, fromCaller, proxy, "http", "gateway.internal");

        assertThat(toBackend.entries())
                .extracting(Object::toString)
                .containsExactlyInAnyOrder(
                        "x-forwarded-for=203.0.113.7, 10.9.9.9, 10.0.0.1",
                        "x-forwarded-proto=https",
                        "x-forwarded-host=shop.example",
                        "x-forwarded-port=443",
                        "X-Forwarded-Prefix=/shop",
                        "forwarded=for=203.0.113.7;proto=https, for=10.0.0.1;host=gateway.internal;proto=http");
    }

    @Test
    void addsFieldsThatATrustedProxyOmits() {
        HttpHeaders toBackend = new DefaultHttpHeaders();

        forwarding.write(toBackend, toBackend, proxy, "http", "shop.example:8080");

        assertThat(toBackend.get("x-forwarded-for")).isEqualTo("10.0.0.1");
        assertThat(toBackend.get("x-forwarded-proto")).isEqualTo("http");
        assertThat(toBackend.get("x-forwarded-host")).isEqualTo("shop.example:8080");
        assertThat(toBackend.get("x-forwarded-port")).isEqualTo("8080");
    }

    @Test
    void distinguishesCallersOfOneCacheSlot() throws UnknownHostException {
        for (int i = 0; i < 5000; i++) {
            HttpHeaders head = new DefaultHttpHeaders();
            byte[] address = {(byte) 203, 0, (byte) (i >> 8), (byte) i};
            InetSocketAddress caller = new InetSocketAddress(InetAddress.getByAddress(address), 1234);
            String host = "h" + i % 3;
            String scheme = i % 2 == 0 ? "http" : "https";

            forwarding.write(head, head, caller, scheme, host);

            String text = "203.0." + (i >> 8) + "." + (i & 0xff);
            assertThat(head.get("forwarded")).isEqualTo("for=" + text + ";host=" + host + ";proto=" + scheme);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "-",
            value = {
                "203.0.113.7  | 1.1.1.1                            | 203.0.113.7",
                "10.0.0.1     | -                                  | 10.0.0.1",
                "10.0.0.1     | 203.0.113.7                        | 203.0.113.7",
                "10.0.0.1     | 1.1.1.1, 203.0.113.7               | 203.0.113.7",
                "10.0.0.1     | 1.1.1.1, 203.0.113.7, 10.2.2.2     | 203.0.113.7",
                "10.0.0.1     | 10.3.3.3,10.2.2.2                  | 10.3.3.3",
                "10.0.0.1     | 203.0.113.7:5678                   | 203.0.113.7",
                "10.0.0.1     | [2001:db8::7]:5678                 | 2001:db8::7",
                "10.0.0.1     | 2001:db8::7                        | 2001:db8::7",
                "10.0.0.1     | 1.1.1.1, unknown                   | 10.0.0.1",
                "10.0.0.1     | 1.1.1.1, <script>, 10.2.2.2        | 10.2.2.2",
                "10.0.0.1     | 1.1.1.1,                           | 10.0.0.1",
                "fd00::1      | 203.0.113.7                        | 203.0.113.7",
            })
    void findsTheCallerBehindTrustedProxies(String peer, String forwardedFor, String expected) {
        HttpHeaders fromCaller = new DefaultHttpHeaders();
        if (forwardedFor != null) {
            fromCaller.add("X-Forwarded-For", forwardedFor);
        }

        assertThat(forwarding.callerAddress(fromCaller, peer(peer))).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "for=203.0.113.7;proto=https                    | 203.0.113.7",
                "For=1.1.1.1, for=\"[2001:db8::7]:47\"          | 2001:db8::7",
                "host=\"a,b\" ; for=203.0.113.7, for=10.2.2.2   | 203.0.113.7",
                "for=_hidden                                    | 10.0.0.1",
                "by=1.1.1.1                                     | 10.0.0.1",
            })
    void readsForwardedWithoutXForwardedFor(String forwarded, String expected) {
        HttpHeaders fromCaller = new DefaultHttpHeaders().add("Forwarded", forwarded);

        assertThat(forwarding.callerAddress(fromCaller, proxy)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "203.0.113.7 | X-Forwarded-Proto | https            | http",
                "10.0.0.1    | X-Forwarded-Proto | https            | https",
                "10.0.0.1    | X-Forwarded-Proto | HTTPS, http      | https",
                "10.0.0.1    | X-Forwarded-Proto | gopher           | http",
                "10.0.0.1    | Forwarded         | for=1.1.1.1;proto=https, for=10.2.2.2;proto=http | https",
                "10.0.0.1    | Forwarded         | for=1.1.1.1      | http",
                "10.0.0.1    | X-Other           | https            | http",
            })
    void trustsTheSchemeOfTrustedProxiesOnly(String peer, String name, String value, String expected) {
        HttpHeaders fromCaller = new DefaultHttpHeaders().add(name, value);

        assertThat(forwarding.callerScheme(fromCaller, peer(peer), "http")).isEqualTo(expected);
    }

    private static InetSocketAddress peer(String address) {
        try {
            return new InetSocketAddress(InetAddress.getByName(address), 50_000);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(e);
        }
    }
}
