package io.weir.edge;

import io.netty.handler.ssl.OpenSslSessionTicketKey;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.LongStream;
import javax.crypto.KDF;
import javax.crypto.spec.HKDFParameterSpec;

/**
 * The keys of the tickets of one host, derived from a secret that several gateways share (HKDF with SHA-256,
 * RFC 5869): a caller resumes its session at any of them. The host and its certificate are part of the
 * derivation, so a ticket is worth nothing at another host, nor after a rotation.
 *
 * <p>A key encrypts for a period. The keys of the periods before and after decrypt, too: for tickets that
 * were given shortly before, and by gateways whose clocks are ahead.
 */
final class TicketKeys {

    static final Duration PERIOD = Duration.ofHours(12);

    private final byte[] secret;
    private final String host;

    /** Keys of a host with its certificates; the name of the host may be empty. */
    TicketKeys(String secret, String host, List<Certificate> certificates) {
        this.secret = secret.getBytes(StandardCharsets.UTF_8);
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (Certificate certificate : certificates) {
                digest.update(certificate.getEncoded());
            }
            this.host = host + ' ' + HexFormat.of().formatHex(digest.digest());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The keys at a time; the first one encrypts. */
    OpenSslSessionTicketKey[] at(Instant now) {
        long period = now.getEpochSecond() / PERIOD.toSeconds();
        return LongStream.of(period, period - 1, period + 1).mapToObj(this::of).toArray(OpenSslSessionTicketKey[]::new);
    }

    private OpenSslSessionTicketKey of(long period) {
        byte[] info = ("weir tls ticket " + period + ' ' + host).getBytes(StandardCharsets.UTF_8);
        try {
            byte[] key = KDF.getInstance("HKDF-SHA256")
                    .deriveData(HKDFParameterSpec.ofExtract()
                            .addIKM(secret)
                            .thenExpand(info, OpenSslSessionTicketKey.TICKET_KEY_SIZE));
            int name = OpenSslSessionTicketKey.NAME_SIZE;
            int mac = name + OpenSslSessionTicketKey.HMAC_KEY_SIZE;
            return new OpenSslSessionTicketKey(
                    Arrays.copyOfRange(key, 0, name),
                    Arrays.copyOfRange(key, name, mac),
                    Arrays.copyOfRange(key, mac, key.length));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
