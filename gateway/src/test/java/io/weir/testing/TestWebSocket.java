package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One end of a WebSocket on a raw socket. It sends exactly the frames of the test, and answers none by
 * itself.
 */
public final class TestWebSocket {

    public static final int TEXT = 1;
    public static final int BINARY = 2;
    public static final int CONTINUATION = 0;
    public static final int CLOSE = 8;
    public static final int PING = 9;
    public static final int PONG = 10;

    private static final String KEY = "dGhlIHNhbXBsZSBub25jZQ==";
    private static final byte[] MASK = {0x11, 0x22, 0x33, 0x44};

    /** The output of either end. */
    @FunctionalInterface
    private interface Output {

        void write(byte[] bytes) throws IOException;
    }

    private final DataInputStream in;
    private final Output out;
    private final boolean caller;
    private final @Nullable String subprotocol;
    private byte[] payload = {};

    private TestWebSocket(InputStream in, Output out, boolean caller, @Nullable String subprotocol) {
        this.in = new DataInputStream(in);
        this.out = out;
        this.caller = caller;
        this.subprotocol = subprotocol;
    }

    /** Sends the handshake of a caller. */
    public static void ask(TestCaller caller, String path, String... fields) throws IOException {
        String[] all = Arrays.copyOf(fields, fields.length + 4);
        all[fields.length] = "Upgrade: websocket";
        all[fields.length + 1] = "Connection: Upgrade";
        all[fields.length + 2] = "Sec-WebSocket-Version: 13";
        all[fields.length + 3] = "Sec-WebSocket-Key: " + KEY;
        caller.send(TestCaller.head("GET", path, all));
    }

    /** Opens a WebSocket as a caller. */
    public static TestWebSocket open(TestCaller caller, String path, String... fields) throws IOException {
        ask(caller, path, fields);
        TestCaller.Answer answer = caller.answer();
        assertThat(answer.status()).as(answer.text()).isEqualTo(101);
        assertThat(answer.header("sec-websocket-accept")).isEqualTo(accept(KEY));
        return new TestWebSocket(caller.in(), caller::send, true, answer.header("sec-websocket-protocol"));
    }

    /** Accepts a WebSocket as a backend. */
    public static TestWebSocket accept(TestBackend.Request request, TestBackend.Conversation conversation)
            throws IOException {
        return accept(request, conversation, null);
    }

    /** Accepts a WebSocket as a backend, with a subprotocol and further fields of its answer. */
    public static TestWebSocket accept(
            TestBackend.Request request,
            TestBackend.Conversation conversation,
            @Nullable String subprotocol,
            String... fields)
            throws IOException {
        String key = Objects.requireNonNull(request.header("sec-websocket-key"), "a WebSocket's handshake");
        conversation.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: " + accept(key) + "\r\n"
                + (subprotocol == null ? "" : "Sec-WebSocket-Protocol: " + subprotocol + "\r\n")
                + Stream.of(fields).map(field -> field + "\r\n").collect(Collectors.joining())
                + "\r\n");
        conversation.upgrade();
        return new TestWebSocket(conversation.in(), conversation::write, false, subprotocol);
    }

    /** The backend's end of a WebSocket that is open, on streams of its frames' bytes. */
    public static TestWebSocket ofBackend(InputStream in, OutputStream out) {
        return new TestWebSocket(in, out::write, false, null);
    }

    private static String accept(String key) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1")
                    .digest((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(StandardCharsets.US_ASCII));
            return Base64.getEncoder().encodeToString(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The agreed subprotocol; null if there is none. */
    @Nullable
    public String subprotocol() {
        return subprotocol;
    }

    /** Sends a frame. */
    public void send(int opcode, boolean last, byte[] bytes) throws IOException {
        ByteBuffer frame = ByteBuffer.allocate(bytes.length + 14);
        frame.put((byte) (opcode | (last ? 0x80 : 0)));
        int masked = caller ? 0x80 : 0;
        if (bytes.length < 126) {
            frame.put((byte) (masked | bytes.length));
        } else if (bytes.length < 65_536) {
            frame.put((byte) (masked | 126)).putShort((short) bytes.length);
        } else {
            frame.put((byte) (masked | 127)).putLong(bytes.length);
        }
        if (caller) {
            frame.put(MASK);
        }
        int at = frame.position();
        frame.put(bytes);
        if (caller) {
            mask(frame.array(), at, bytes.length, MASK);
        }
        out.write(Arrays.copyOf(frame.array(), frame.position()));
    }

    /** Sends a message in one frame. */
    public void send(String text) throws IOException {
        send(TEXT, true, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Sends a close frame. */
    public void close(int code, String reason) throws IOException {
        byte[] words = reason.getBytes(StandardCharsets.UTF_8);
        send(
                CLOSE,
                true,
                ByteBuffer.allocate(2 + words.length)
                        .putShort((short) code)
                        .put(words)
                        .array());
    }

    /**
     * Reads the next frame or end, and returns a description: {@code text 5}, {@code binary… 100} for a
     * fragment of a message, {@code close 1000 bye}, {@code ping 0}, {@code end}, {@code reset}.
     * {@link #payload()} has its bytes.
     */
    public String next() throws IOException {
        try {
            return read();
        } catch (EOFException e) {
            return "end";
        } catch (SocketException e) {
            return "reset";
        }
    }

    private String read() throws IOException {
        int first = in.readUnsignedByte();
        int second = in.readUnsignedByte();
        long length = second & 0x7f;
        if (length == 126) {
            length = in.readUnsignedShort();
        } else if (length == 127) {
            length = in.readLong();
        }
        byte[] mask = new byte[(second & 0x80) == 0 ? 0 : 4];
        in.readFully(mask);
        payload = new byte[Math.toIntExact(length)];
        in.readFully(payload);
        if (mask.length > 0) {
            mask(payload, 0, payload.length, mask);
        }
        String part = (first & 0x80) == 0 ? "…" : "";
        return switch (first & 0xf) {
            case CONTINUATION -> "continuation" + part + " " + length;
            case TEXT -> "text" + part + " " + length;
            case BINARY -> "binary" + part + " " + length;
            case CLOSE -> "close " + closing();
            case PING -> "ping " + length;
            case PONG -> "pong " + length;
            default -> "opcode " + first;
        };
    }

    private String closing() {
        if (payload.length < 2) {
            return "without a status";
        }
        int code = ByteBuffer.wrap(payload).getShort() & 0xffff;
        return (code + " " + new String(payload, 2, payload.length - 2, StandardCharsets.UTF_8)).strip();
    }

    /** The payload of the frame that {@link #next} returned last. */
    public byte[] payload() {
        return payload;
    }

    private static void mask(byte[] bytes, int from, int length, byte[] mask) {
        for (int i = 0; i < length; i++) {
            bytes[from + i] ^= mask[i & 3];
        }
    }
}
