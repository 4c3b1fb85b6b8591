package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.ssl.OpenSslSessionTicketKey;
import io.netty.pkitesting.CertificateBuilder;
import java.security.cert.Certificate;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class TicketKeysTest {

    private static final String SECRET = "0123456789abcdef0123456789abcdef";
    private static final Instant NOW = Instant.parse("2026-01-31T06:00:00Z");

    private final List<Certificate> certificate = certificate();

    private static List<Certificate> certificate() {
        try {
            return List.of(new CertificateBuilder()
                    .subject("CN=a")
                    .setIsCertificateAuthority(true)
                    .buildSelfSigned()
                    .getCertificate());
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Name, HMAC key and AES key of each, in their order. */
    private static List<String> text(TicketKeys keys, Instant time) {
        return Stream.of(keys.at(time)).map(TicketKeysTest::text).toList();
    }

    private static String text(OpenSslSessionTicketKey key) {
        HexFormat hex = HexFormat.of();
        return hex.formatHex(key.name()) + ' ' + hex.formatHex(key.hmacKey()) + ' ' + hex.formatHex(key.aesKey());
    }

    @Test
    void gatewaysWithTheSameSecretHaveTheSameKeys() {
        List<String> keys = text(new TicketKeys(SECRET, "a", certificate), NOW);

        assertThat(text(new TicketKeys(SECRET, "a", certificate), NOW)).isEqualTo(keys);
        assertThat(keys).doesNotHaveDuplicates().hasSize(3);
        assertThat(keys.getFirst().split(" ")).doesNotHaveDuplicates().hasSize(3);
    }

    @Test
    void anotherSecretHostOrCertificateHasOtherKeys() {
        List<String> keys = text(new TicketKeys(SECRET, "a", certificate), NOW);

        assertThat(text(new TicketKeys(SECRET + '0', "a", certificate), NOW)).doesNotContainAnyElementsOf(keys);
        assertThat(text(new TicketKeys(SECRET, "b", certificate), NOW)).doesNotContainAnyElementsOf(keys);
        assertThat(text(new TicketKeys(SECRET, "a", certificate()), NOW)).doesNotContainAnyElementsOf(keys);
    }

    @Test
    void aKeyEncryptsForOnePeriodAndDecryptsInTheNeighbouringOnes() {
        TicketKeys keys = new TicketKeys(SECRET, "a", certificate);
        String first = text(keys, NOW).getFirst();

        assertThat(text(keys, NOW.plusSeconds(5 * 3600)).getFirst()).isEqualTo(first);
        for (Instant neighbour : List.of(NOW.plus(TicketKeys.PERIOD), NOW.minus(TicketKeys.PERIOD))) {
            assertThat(text(keys, neighbour)).contains(first);
            assertThat(text(keys, neighbour).getFirst()).isNotEqualTo(first);
        }
        assertThat(text(keys, NOW.plus(TicketKeys.PERIOD.multipliedBy(2)))).doesNotContain(first);
    }
}
