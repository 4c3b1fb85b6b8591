package io.weir.perf.scenario;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** A backend on a raw socket. The path of a request names the fault of its answer. */
final class FaultyBackend implements AutoCloseable {

    private static final int TLS_HANDSHAKE = 0x16;
    /** At a byte a second, the answer takes longer than the deadline. Without a deadline it ends soon. */
    private static final int TRICKLED_BYTES = 5;

    private static final String OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    private final ServerSocket server;

    FaultyBackend() throws IOException {
        this.server = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    int port() {
        return server.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = server.accept();
                Thread.ofVirtual().start(() -> serve(socket));
            }
        } catch (IOException e) {
            // The server is closed.
        }
    }

    private static void serve(Socket socket) {
        try (socket) {
            InputStream in = new BufferedInputStream(socket.getInputStream());
            OutputStream out = socket.getOutputStream();
            in.mark(1);
            if (in.read() == TLS_HANDSHAKE) {
                // Like a server that supports only plain HTTP.
                write(out, "HTTP/1.1 400 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
                return;
            }
            in.reset();
            for (String path = readPath(in); !path.isEmpty(); path = readPath(in)) {
                if (!answer(path, socket, in, out)) {
                    return;
                }
            }
        } catch (IOException e) {
            // The gateway has closed the connection.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether the connection can be used again. */
    private static boolean answer(String fault, Socket socket, InputStream in, OutputStream out)
            throws IOException, InterruptedException {
        switch (fault) {
            case "errors" -> write(out, "HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\nno");
            case "resets" -> {
                writeBody(out, 100_000, 50_000);
                // The first half must arrive before the reset.
                Thread.sleep(Duration.ofMillis(200));
                socket.setSoLinger(true, 0);
                return false;
            }
            case "truncates" -> {
                writeBody(out, 100_000, 50_000);
                return false;
            }
            case "malformed" -> {
                write(out, "HTP/huh\r\n\r\n");
                return false;
            }
            case "trickles" -> {
                writeBody(out, TRICKLED_BYTES, 0);
                for (int i = 0; i < TRICKLED_BYTES; i++) {
                    write(out, ".");
                    Thread.sleep(Duration.ofSeconds(1));
                }
            }
            case "hangs" -> in.transferTo(OutputStream.nullOutputStream());
            case "answers-early" -> {
                write(out, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
                in.transferTo(OutputStream.nullOutputStream());
                return false;
            }
            case "hints" -> write(out, "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" + OK);
            case "slow" -> {
                // Longer than a busy caller needs to leave.
                Thread.sleep(Duration.ofMillis(600));
                write(out, OK);
            }
            case "large-answer" -> writeBody(out, 20_000_000, 20_000_000);
            default -> write(out, OK);
        }
        return true;
    }

    private static void writeBody(OutputStream out, int contentLength, int bytes) throws IOException {
        write(out, "HTTP/1.1 200 OK\r\nContent-Length: " + contentLength + "\r\n\r\n");
        out.write(new byte[bytes]);
    }

    private static void write(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }

    /** Reads a head; returns the path without its slash, or an empty text at the end of the stream. */
    private static String readPath(InputStream in) throws IOException {
        String first = readLine(in);
        for (String field = first; !field.isEmpty(); ) {
            field = readLine(in);
        }
        String[] words = first.split(" ", -1);
        return words.length < 2 ? "" : words[1].substring(1);
    }

    /** Reads a line; an empty text at the end of the stream. */
    static String readLine(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b != '\n' && b >= 0; b = in.read()) {
            if (b != '\r') {
                line.append((char) b);
            }
        }
        return line.toString();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
