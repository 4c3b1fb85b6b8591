package io.weir.edge;

import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Builds headers of the PROXY protocol for tests. */
final class ProxyHeaders {

    static final byte[] SIGNATURE = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a};
    static final int LOCAL = 0x20;
    static final int PROXY = 0x21;

    private ProxyHeaders() {}

    /** A line of version 1, without its end. */
    static byte[] version1(String line) {
        return (line + "\r\n").getBytes(StandardCharsets.ISO_8859_1);
    }

    /** A header of version 2 with any content. */
    static byte[] version2(int command, int family, byte[] content) {
        return ByteBuffer.allocate(16 + content.length)
                .put(SIGNATURE)
                .put((byte) command)
                .put((byte) family)
                .putShort((short) content.length)
                .put(content)
                .array();
    }

    /** A header of version 2 for a TCP connection, with extensions of this many bytes. */
    static byte[] version2(String from, int extensionBytes) {
        try {
            byte[] address = InetAddress.getByName(from).getAddress();
            ByteArrayOutputStream content = new ByteArrayOutputStream();
            content.writeBytes(address);
            content.writeBytes(address);
            content.writeBytes(new byte[] {(byte) 0xc0, 1, 0, 80});
            content.writeBytes(new byte[extensionBytes]);
            return version2(PROXY, address.length == 4 ? 0x11 : 0x21, content.toByteArray());
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(from, e);
        }
    }
}
