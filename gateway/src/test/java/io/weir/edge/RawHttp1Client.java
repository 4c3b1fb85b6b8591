package io.weir.edge;

import static io.weir.testing.Patience.PATIENCE;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** An HTTP/1 client that sends exactly the given bytes. Every read has a timeout. */
final class RawHttp1Client implements Closeable {

    private static final int READ_TIMEOUT_MILLIS = (int) PATIENCE.toMillis();

    private final Socket socket;
    private final InputStream in;

    /** An HTTP/1 response. */
    record Answer(int status, Map<String, String> fields, String body) {

        @Nullable
        String field(String name) {
            return fields.get(name);
        }

        boolean closes() {
            return "close".equals(field("connection"));
        }
    }

    RawHttp1Client(Socket socket) throws IOException {
        this.socket = socket;
        socket.setSoTimeout(READ_TIMEOUT_MILLIS);
        socket.setTcpNoDelay(true);
        this.in = socket.getInputStream();
    }

    static RawHttp1Client to(int port) throws IOException {
        return new RawHttp1Client(new Socket(InetAddress.getLoopbackAddress(), port));
    }

    /** Connects from this address of the loopback network. */
    static RawHttp1Client from(String address, int port) throws IOException {
        return new RawHttp1Client(
                new Socket(InetAddress.getLoopbackAddress(), port, InetAddress.getByName(address), 0));
    }

    Socket socket() {
        return socket;
    }

    void send(String text) throws IOException {
        send(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    void send(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
        socket.getOutputStream().flush();
    }

    Answer get(String target) throws IOException {
        send("GET " + target + " HTTP/1.1\r\nHost: weir.example\r\n\r\n");
        return answer();
    }

    /** Reads the next response, which has a body. */
    Answer answer() throws IOException {
        return answer(true);
    }

    Answer answer(boolean hasBody) throws IOException {
        String[] line = line().split(" ", 3);
        if (line.length != 3 || !line[0].startsWith("HTTP/1.")) {
            throw new IOException("no status line: " + String.join(" ", line));
        }
        Map<String, String> fields = new TreeMap<>();
        for (String field = line(); !field.isEmpty(); field = line()) {
            int colon = field.indexOf(':');
            fields.put(
                    field.substring(0, colon).toLowerCase(Locale.ROOT),
                    field.substring(colon + 1).strip());
        }
        int status = Integer.parseInt(line[1]);
        String body = hasBody && status >= 200 ? body(fields) : "";
        return new Answer(status, fields, body);
    }

    private String body(Map<String, String> fields) throws IOException {
        String length = fields.get("content-length");
        if (length != null) {
            return new String(in.readNBytes(Integer.parseInt(length)), StandardCharsets.UTF_8);
        }
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        for (int size = Integer.parseInt(line(), 16); size > 0; size = Integer.parseInt(line(), 16)) {
            body.write(in.readNBytes(size));
            line();
        }
        line();
        return body.toString(StandardCharsets.UTF_8);
    }

    String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new IOException("closed behind: " + line);
            }
            if (b != '\r') {
                line.append((char) b);
            }
        }
        return line.toString();
    }

    /** The bytes until the server closes the connection; throws if the server resets it. */
    String rest() throws IOException {
        return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
    }

    byte[] bytes(int length) throws IOException {
        return in.readNBytes(length);
    }

    void shutdownOutput() throws IOException {
        socket.shutdownOutput();
    }

    void hangUp() throws IOException {
        socket.close();
    }

    /** Sets the time-out of a read; 0: the usual one. */
    void setTimeout(int millis) throws IOException {
        socket.setSoTimeout(millis == 0 ? READ_TIMEOUT_MILLIS : millis);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
