package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the header of the PROXY protocol, version 1 (text) or 2 (binary), byte by byte from the beginning of
 * a connection. See <a href="https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt">the
 * specification</a>.
 *
 * <p>It keeps at most 107 bytes. Extensions (TLVs) of version 2 are skipped as they arrive, so that a header
 * of 64 KiB needs no memory. Reactor Netty's own support was not chosen: it believes every peer, keeps a
 * header in memory until its end, and answers a malformed one with an exception.
 *
 * <p>Confined to the connection's event loop.
 */
final class ProxyHeader {

    /** What the bytes so far are. */
    enum Progress {
        /** The beginning of a header. */
        INCOMPLETE,
        /** A whole header. */
        COMPLETE,
        /** No header: they belong to the connection. */
        ABSENT,
        /** The beginning of a header, and not a header: see {@link #problem}. */
        MALFORMED
    }

    /** The peer as the header names it without an address (RFC 7239, 6.3). */
    static final InetSocketAddress UNKNOWN = InetSocketAddress.createUnresolved("unknown", 0);

    private static final byte[] V1_PREFIX = "PROXY ".getBytes(StandardCharsets.US_ASCII);
    private static final int V1_MAX_BYTES = 107;
    private static final int V1_FIELDS = 6;
    private static final Pattern PORT = Pattern.compile("0|[1-9][0-9]{0,4}");
    private static final int MAX_PORT = 65_535;

    private static final byte[] V2_SIGNATURE = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};
    private static final int COMMAND_AT = 12;
    private static final int FAMILY_AT = 13;
    private static final int LENGTH_AT = 14;
    private static final int V2_FIXED_BYTES = 16;
    private static final int VERSION_2 = 2;
    private static final int LOCAL = 0;
    private static final int PROXY = 1;
    private static final int UNIX_FAMILY = 3;
    private static final int DATAGRAM = 2;
    private static final int TCP_OVER_IPV4 = 0x11;
    private static final int TCP_OVER_IPV6 = 0x21;
    private static final int IPV4_BYTES = 4;
    private static final int IPV6_BYTES = 16;
    /** The bytes of two addresses by family: unspecified, IPv4, IPv6, UNIX. */
    private static final int[] ADDRESS_BYTES = {0, 12, 36, 216};

    private final byte[] head = new byte[V1_MAX_BYTES];
    private int count;
    /** Bytes of the header that are not read. */
    private int skippedBytes;
    /** The bytes of a version 2 header that are read; its fixed part until its family is known. */
    private int readBytes = V2_FIXED_BYTES;

    private @Nullable InetSocketAddress source;
    private String problem = "";

    /** Reads bytes up to the end of the header; what follows stays in the buffer. */
    Progress read(ByteBuf in) {
        while (in.isReadable()) {
            if (skippedBytes > 0) {
                int skipped = Math.min(skippedBytes, in.readableBytes());
                in.skipBytes(skipped);
                skippedBytes -= skipped;
                if (skippedBytes == 0) {
                    return Progress.COMPLETE;
                }
            } else {
                head[count++] = in.readByte();
                Progress progress = head[0] == V1_PREFIX[0] ? readVersion1() : readVersion2();
                if (progress != Progress.INCOMPLETE) {
                    return progress;
                }
            }
        }
        return Progress.INCOMPLETE;
    }

    /** Whether a byte has arrived. */
    boolean hasBegun() {
        return count > 0;
    }

    /** The bytes that {@link #read} has taken, if they are no header. */
    byte[] taken() {
        return Arrays.copyOf(head, count);
    }

    /**
     * The caller's address; {@link #UNKNOWN}: the balancer does not know it; null: the connection is the
     * balancer's own, such as a health check.
     */
    @Nullable
    InetSocketAddress source() {
        return source;
    }

    /** Why the header is malformed. */
    String problem() {
        return problem;
    }

    private Progress malformed(String why) {
        problem = why;
        return Progress.MALFORMED;
    }

    // ---------------------------------------------------------------- version 1

    private Progress readVersion1() {
        int at = count - 1;
        if (at < V1_PREFIX.length) {
            return head[at] == V1_PREFIX[at] ? Progress.INCOMPLETE : Progress.ABSENT;
        }
        if (head[at] == '\n') {
            return head[at - 1] == '\r'
                    ? parseLine(new String(head, 0, at - 1, StandardCharsets.ISO_8859_1))
                    : malformed("line: ends with LF (expected: CR LF)");
        }
        return count < V1_MAX_BYTES
                ? Progress.INCOMPLETE
                : malformed("line: longer than " + V1_MAX_BYTES + " bytes (expected: at most as many)");
    }

    private Progress parseLine(String line) {
        String[] fields = line.split(" ", -1);
        String family = fields[1];
        if (family.equals("UNKNOWN")) {
            source = UNKNOWN;
            return Progress.COMPLETE;
        }
        if (!family.equals("TCP4") && !family.equals("TCP6")) {
            return malformed("family: unknown (expected: TCP4, TCP6 or UNKNOWN)");
        }
        if (fields.length != V1_FIELDS) {
            return malformed("fields: " + fields.length + " (expected: " + V1_FIELDS + ")");
        }
        int addressBytes = family.equals("TCP4") ? IPV4_BYTES : IPV6_BYTES;
        byte[] from = parseAddress(fields[2], addressBytes);
        byte[] to = parseAddress(fields[3], addressBytes);
        int fromPort = parsePort(fields[4]);
        if (from == null || to == null || fromPort < 0 || parsePort(fields[5]) < 0) {
            return malformed("address: no " + family + " address (expected: addresses and ports)");
        }
        source = socketAddress(from, fromPort);
        return Progress.COMPLETE;
    }

    private static byte @Nullable [] parseAddress(String text, int bytes) {
        boolean isValid = bytes == IPV4_BYTES
                ? NetUtil.isValidIpV4Address(text)
                : NetUtil.isValidIpV6Address(text) && text.indexOf('%') < 0 && text.indexOf('[') < 0;
        byte[] address = isValid ? NetUtil.createByteArrayFromIpAddressString(text) : null;
        return address != null && address.length == bytes ? address : null;
    }

    private static int parsePort(String text) {
        int port = PORT.matcher(text).matches() ? Integer.parseInt(text) : -1;
        return port > MAX_PORT ? -1 : port;
    }

    // ---------------------------------------------------------------- version 2

    private Progress readVersion2() {
        int at = count - 1;
        if (at < V2_SIGNATURE.length) {
            return head[at] == V2_SIGNATURE[at] ? Progress.INCOMPLETE : Progress.ABSENT;
        }
        int value = head[at] & 0xff;
        if (at == COMMAND_AT && (value >> 4 != VERSION_2 || (value & 0xf) > PROXY)) {
            return malformed("version and command: " + value + " (expected: 32 or 33)");
        }
        if (at == FAMILY_AT && !isLocal() && (value >> 4 > UNIX_FAMILY || (value & 0xf) > DATAGRAM)) {
            return malformed("family and protocol: " + value + " (expected: one of the specification)");
        }
        if (at == V2_FIXED_BYTES - 1) {
            return readLength();
        }
        if (count > V2_FIXED_BYTES && count == readBytes) {
            int addressBytes = family() == TCP_OVER_IPV4 ? IPV4_BYTES : IPV6_BYTES;
            int portAt = V2_FIXED_BYTES + 2 * addressBytes;
            byte[] from = Arrays.copyOfRange(head, V2_FIXED_BYTES, V2_FIXED_BYTES + addressBytes);
            source = socketAddress(from, (head[portAt] & 0xff) << 8 | (head[portAt + 1] & 0xff));
            return skip(length() - (readBytes - V2_FIXED_BYTES));
        }
        return Progress.INCOMPLETE;
    }

    /** The fixed part is complete. */
    private Progress readLength() {
        if (isLocal()) {
            return skip(length());
        }
        int addressBytes = ADDRESS_BYTES[family() >> 4];
        if (length() < addressBytes) {
            return malformed("length: " + length() + " (expected: at least " + addressBytes + ")");
        }
        if (family() == TCP_OVER_IPV4 || family() == TCP_OVER_IPV6) {
            readBytes = V2_FIXED_BYTES + addressBytes;
            return Progress.INCOMPLETE;
        }
        source = UNKNOWN;
        return skip(length());
    }

    private Progress skip(int bytes) {
        skippedBytes = bytes;
        return bytes == 0 ? Progress.COMPLETE : Progress.INCOMPLETE;
    }

    private boolean isLocal() {
        return (head[COMMAND_AT] & 0xf) == LOCAL;
    }

    private int family() {
        return head[FAMILY_AT] & 0xff;
    }

    private int length() {
        return (head[LENGTH_AT] & 0xff) << 8 | (head[LENGTH_AT + 1] & 0xff);
    }

    private static InetSocketAddress socketAddress(byte[] address, int port) {
        try {
            return new InetSocketAddress(InetAddress.getByAddress(address), port);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("address: " + address.length + " bytes (expected: 4 or 16)", e);
        }
    }
}
