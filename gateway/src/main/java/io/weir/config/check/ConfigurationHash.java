package io.weir.config.check;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.SortedMap;

/**
 * A short hash of a configuration, to see that two gateways have the same one: the first 48 bits of SHA-256.
 * A double, and so a gauge of Prometheus, holds that many bits exactly.
 *
 * @param value the bits, as a number
 */
public record ConfigurationHash(long value) {

    private static final int UNUSED_BITS = Long.SIZE - 48;

    /** The hash of values by path. */
    static ConfigurationHash of(SortedMap<String, String> values) {
        MessageDigest digest;
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 unavailable, although every Java platform must provide it", e);
        }
        values.forEach((path, text) -> {
            add(digest, path);
            add(digest, text);
        });
        return new ConfigurationHash(ByteBuffer.wrap(digest.digest()).getLong() >>> UNUSED_BITS);
    }

    /** The length first, so that no two sequences of texts have the same bytes. */
    private static void add(MessageDigest digest, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(bytes.length).flip());
        digest.update(bytes);
    }

    /** Twelve hexadecimal digits. */
    @Override
    public String toString() {
        return String.format("%012x", value);
    }
}
