package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.pkitesting.CertificateBuilder;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class VirtualHostsTest {

    private final VirtualHosts hosts = new VirtualHosts(Map.of("a.test", "a", "a2.test", "a", "b.test", "b"), "main");
    private final EmbeddedChannel connection = new EmbeddedChannel();

    private static X509Certificate certificate() throws Exception {
        return new CertificateBuilder()
                .subject("CN=cn.test")
                .addSanDnsName("shop.test")
                .addSanIpAddress("192.0.2.7")
                .setIsCertificateAuthority(true)
                .buildSelfSigned()
                .getCertificate();
    }

    @Test
    void knowsTheHostsOfACertificate() throws Exception {
        X509Certificate certificate = certificate();

        assertThat(VirtualHosts.covers(certificate, "shop.test")).isTrue();
        assertThat(VirtualHosts.covers(certificate, "192.0.2.7")).isTrue();

        assertThat(VirtualHosts.covers(certificate, "evil-shop.test")).isFalse();
        assertThat(VirtualHosts.covers(certificate, "cn.test"))
                .as("the subject is no host")
                .isFalse();
        assertThat(VirtualHosts.covers((X509Certificate) null, "shop.test")).isFalse();
    }

    @Test
    void letsAWildcardStandForOneLabel() {
        List<List<?>> names = List.of(List.of(2, "*.Wild.test"));

        assertThat(VirtualHosts.covers(names, "m.wild.test")).isTrue();
        assertThat(VirtualHosts.covers(names, "wild.test")).isFalse();
        assertThat(VirtualHosts.covers(names, "x.m.wild.test")).isFalse();
        assertThat(VirtualHosts.covers(names, ".wild.test")).isFalse();
    }

    @Test
    void servesEveryHostWithoutSni() {
        assertThat(hosts.isMisdirected(connection, "b.test")).isFalse();
    }

    @Test
    void servesTheNameOfTheHandshakeInAnySpelling() {
        VirtualHosts.requested(connection, "a.test");

        assertThat(hosts.isMisdirected(connection, "a.test")).isFalse();
        assertThat(hosts.isMisdirected(connection, "A.test:8443")).isFalse();
        assertThat(hosts.isMisdirected(connection, "a.test:443")).isFalse();
        assertThat(hosts.isMisdirected(connection, "a.test:")).isFalse();
        assertThat(hosts.isMisdirected(connection, "a.test.")).isFalse();
        assertThat(hosts.isMisdirected(connection, null)).isFalse();
    }

    @Test
    void servesHostsOfTheSameBundle() {
        VirtualHosts.requested(connection, "a.test");
        assertThat(hosts.isMisdirected(connection, "a2.test")).isFalse();

        VirtualHosts.requested(connection, "x.test");
        assertThat(hosts.isMisdirected(connection, "y.test"))
                .as("both have the default")
                .isFalse();
    }

    @Test
    void refusesHostsOfAnotherBundle() {
        VirtualHosts.requested(connection, "a.test");

        assertThat(hosts.isMisdirected(connection, "b.test")).isTrue();
        assertThat(hosts.isMisdirected(connection, "b.test:443")).isTrue();
        assertThat(hosts.isMisdirected(connection, "x.test"))
                .as("has the default")
                .isTrue();
        assertThat(hosts.isMisdirected(connection, "[::1]")).isTrue();
        assertThat(hosts.isMisdirected(connection, "a.test")).as("afterwards").isFalse();
        assertThat(hosts.isMisdirected(connection, "a2.test")).as("afterwards").isFalse();
    }
}
