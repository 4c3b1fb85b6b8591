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

/** A backend on a raw socket, wrong in the way that a request's path names. One virtual thread for each connection. */
final class FaultyBackend implements AutoCloseable {

    private static final int TLS_HANDSHAKE = 0x16;
    private static final int LARGE = 20_000_000;
    private static final int MEDIUM = 100_000;

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
                Thread.ofVirtual().start(() -> converse(socket));
            }
        } catch (IOException e) {
            // Closed: there is nothing to accept any more.
        }
    }

    private static void converse(Socket socket) {
        try (socket) {
            InputStream in = new BufferedInputStream(socket.getInputStream());
            OutputStream out = socket.getOutputStream();
            in.mark(1);
            if (in.read() == TLS_HANDSHAKE) {
                // As servers do that are asked for TLS and know only HTTP.
                write(out, "HTTP/1.1 400 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
                return;
            }
            in.reset();
            for (String path = path(in); !path.isEmpty(); path = path(in)) {
                if (!serve(path, socket, in, out)) {
                    return;
                }
            }
        } catch (IOException e) {
            // The gateway has closed it, as it may.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether the connection is good for another request. */
    private static boolean serve(String fault, Socket socket, InputStream in, OutputStream out)
            throws IOException, InterruptedException {
        switch (fault) {
            case "fails" -> write(out, "HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\nno");
            case "resets" -> {
                half(out);
                // The first half is to be there first.
                Thread.sleep(Duration.ofMillis(200));
                socket.setSoLinger(true, 0);
                return false;
            }
            case "truncates" -> {
                half(out);
                return false;
            }
            case "babbles" -> {
                write(out, "HTP/huh\r\n\r\n");
                return false;
            }
            case "trickles" -> {
                write(out, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
                while (true) {
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
            case "hints" ->
                write(
                        out,
                        "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            case "takes-a-while" -> {
                // Longer than it takes even a busy caller to be gone.
                Thread.sleep(Duration.ofMillis(600));
                write(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
            case "answers-at-length" -> {
                write(out, "HTTP/1.1 200 OK\r\nContent-Length: " + LARGE + "\r\n\r\n");
                out.write(new byte[LARGE]);
            }
            default -> write(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
        return true;
    }

    private static void half(OutputStream out) throws IOException {
        write(out, "HTTP/1.1 200 OK\r\nContent-Length: " + MEDIUM + "\r\n\r\n");
        out.write(new byte[MEDIUM / 2]);
    }

    /** The next request's path without its slash; empty: there is none. Bodies are left where they are. */
    private static String path(InputStream in) throws IOException {
        String first = line(in);
        for (String field = first; !field.isEmpty(); ) {
            field = line(in);
        }
        String[] words = first.split(" ", -1);
        return words.length < 2 ? "" : words[1].substring(1);
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b != '\n' && b >= 0; b = in.read()) {
            if (b != '\r') {
                line.append((char) b);
            }
        }
        return line.toString();
    }

    private static void write(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
