package io.weir.testing;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A caller on a raw socket. It sees every byte, and tells a RST from an orderly end. */
public final class TestCaller implements AutoCloseable {

    /** An answer, read whole. */
    public static final class Answer {

        private final int status;
        private final Map<String, String> headers;
        private final byte[] body;
        private final Map<String, String> trailers;

        Answer(int status, Map<String, String> headers, byte[] body, Map<String, String> trailers) {
            this.status = status;
            this.headers = headers;
            this.body = body;
            this.trailers = trailers;
        }

        /** The status code. */
        public int status() {
            return status;
        }

        /** The header fields by lower-case name; fields of the same name are joined by commas. */
        public Map<String, String> headers() {
            return headers;
        }

        /** The body. */
        public byte[] body() {
            return body;
        }

        /** A header field; null if the answer does not have it. */
        public @Nullable String header(String name) {
            return headers.get(name.toLowerCase(Locale.ROOT));
        }

        /** The trailers by lower-case name. */
        public Map<String, String> trailers() {
            return trailers;
        }

        /** The body as text. */
        public String text() {
            return new String(body, StandardCharsets.UTF_8);
        }

        /** The body as a problem. */
        public JsonNode problem() {
            return JsonMapper.shared().readTree(body);
        }

        /** The reason in the problem's type; empty if the answer is no problem. */
        public String reason() {
            return "application/problem+json".equals(header("content-type"))
                    ? problem().path("type").asString().replace("urn:weir:", "")
                    : "";
        }
    }

    private final Socket socket;
    private final InputStream in;

    private TestCaller(Socket socket) throws IOException {
        this.socket = socket;
        this.in = new BufferedInputStream(socket.getInputStream());
    }

    /** Connects to a port on loopback. */
    public static TestCaller to(int port) throws IOException {
        return connected(new Socket(), port);
    }

    /** Connects to a port on loopback from another address of loopback, such as 127.0.0.2. */
    public static TestCaller from(String address, int port) throws IOException {
        Socket socket = new Socket();
        socket.bind(new InetSocketAddress(address, 0));
        return connected(socket, port);
    }

    /** Connects to a port on loopback, and lets few bytes wait in the kernel: a slow reader shows soon. */
    public static TestCaller withSmallWindow(int port) throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4_096);
        return connected(socket, port);
    }

    /** Uses a connection, such as one with TLS. */
    public static TestCaller over(Socket connection) throws IOException {
        connection.setSoTimeout((int) TestGateway.PATIENCE.toMillis());
        return new TestCaller(connection);
    }

    private static TestCaller connected(Socket socket, int port) throws IOException {
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        socket.setTcpNoDelay(true);
        socket.setSoTimeout((int) TestGateway.PATIENCE.toMillis());
        return new TestCaller(socket);
    }

    /** Sends one request on a new connection, and reads the answer. */
    public static Answer get(int port, String target, String... fields) throws IOException {
        try (TestCaller caller = to(port)) {
            return caller.request("GET", target, fields);
        }
    }

    /** Sends one request on a new connection and a new thread. */
    public static CompletableFuture<Answer> ask(int port, String target, String... fields) {
        CompletableFuture<Answer> answer = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                answer.complete(get(port, target, fields));
            } catch (IOException | RuntimeException e) {
                answer.completeExceptionally(e);
            }
        });
        return answer;
    }

    /** Sends a request without a body, and reads the answer. */
    public Answer request(String method, String target, String... fields) throws IOException {
        send(head(method, target, fields));
        return answer("HEAD".equals(method));
    }

    /** The head of a request, as text. */
    public static String head(String method, String target, String... fields) {
        StringBuilder head = new StringBuilder(method + " " + target + " HTTP/1.1\r\nHost: weir.test\r\n");
        for (String field : fields) {
            head.append(field).append("\r\n");
        }
        return head.append("\r\n").toString();
    }

    /** Sends bytes. */
    public void send(String text) throws IOException {
        send(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Sends bytes. */
    public void send(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
        socket.getOutputStream().flush();
    }

    /** Closes the output: the gateway gets a FIN. */
    public void finish() throws IOException {
        socket.shutdownOutput();
    }

    /** Closes the connection with a RST. */
    public void reset() throws IOException {
        socket.setSoLinger(true, 0);
        socket.close();
    }

    /** The raw input. */
    public InputStream in() {
        return in;
    }

    /** The socket, for its options. */
    public Socket socket() {
        return socket;
    }

    /** Reads an answer with a body. */
    public Answer answer() throws IOException {
        return answer(false);
    }

    /**
     * Reads an answer; informational ones before it are passed over.
     *
     * @throws EOFException if it ends before it is complete
     * @throws java.net.SocketException if it is reset
     */
    public Answer answer(boolean toHead) throws IOException {
        Answer head = readHead();
        while (head.status() >= 100 && head.status() < 200 && head.status() != 101) {
            head = readHead();
        }
        int status = head.status();
        boolean empty = toHead || status == 204 || status == 304 || status == 101;
        Map<String, String> trailers = new LinkedHashMap<>();
        return new Answer(status, head.headers(), empty ? new byte[0] : body(head, trailers), trailers);
    }

    /** Reads the head of an answer. */
    public Answer readHead() throws IOException {
        String status = line();
        return new Answer(Integer.parseInt(status.substring(9, 12)), fields(), new byte[0], Map.of());
    }

    private Map<String, String> fields() throws IOException {
        Map<String, String> fields = new LinkedHashMap<>();
        for (String field = line(); !field.isEmpty(); field = line()) {
            int colon = field.indexOf(':');
            fields.merge(
                    field.substring(0, colon).toLowerCase(Locale.ROOT),
                    field.substring(colon + 1).strip(),
                    (one, other) -> one + ", " + other);
        }
        return fields;
    }

    private byte[] body(Answer head, Map<String, String> trailers) throws IOException {
        String length = head.header("content-length");
        if (length != null) {
            byte[] body = in.readNBytes(Integer.parseInt(length));
            if (body.length < Integer.parseInt(length)) {
                throw new EOFException("after " + body.length + " of " + length + " bytes");
            }
            return body;
        }
        if (!"chunked".equals(head.header("transfer-encoding"))) {
            return in.readAllBytes();
        }
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        while (true) {
            int size = Integer.parseInt(line(), 16);
            body.write(in.readNBytes(size));
            if (size == 0) {
                trailers.putAll(fields());
                return body.toByteArray();
            }
            line();
        }
    }

    /** Reads a chunk as text; empty for the last chunk, whose trailers follow. */
    public String chunk() throws IOException {
        int size = Integer.parseInt(line(), 16);
        byte[] bytes = in.readNBytes(size);
        if (size > 0) {
            line();
        }
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    /** Reads until the gateway closes the connection, and returns whether it did so with a RST. */
    public boolean isReset() throws IOException {
        try {
            in.transferTo(OutputStream.nullOutputStream());
            return false;
        } catch (SocketException e) {
            return true;
        }
    }

    /** Reads a line, and returns it without its line end. */
    public String line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new EOFException("after «" + line + "»");
            }
            if (b != '\r') {
                line.write(b);
            }
        }
        return line.toString(StandardCharsets.ISO_8859_1);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
