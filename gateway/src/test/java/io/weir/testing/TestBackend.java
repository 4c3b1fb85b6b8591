package io.weir.testing;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ServerSocketFactory;
import org.jspecify.annotations.Nullable;

/** A backend on a raw socket, for all faults of a backend. It serves each connection on a virtual thread. */
public final class TestBackend implements AutoCloseable {

    /** The backend's reaction to a request. */
    @FunctionalInterface
    public interface Behaviour {

        /** Serves one request of a connection; a connection ends when this throws or closes it. */
        void serve(Request request, Conversation conversation) throws IOException, InterruptedException;
    }

    /** The head of a request, as received. */
    public record Request(String line, String head) {

        /** {@code GET}. */
        public String method() {
            return line.substring(0, line.indexOf(' '));
        }

        /** {@code /path?query}. */
        public String target() {
            return line.substring(line.indexOf(' ') + 1, line.lastIndexOf(' '));
        }

        /** The value of a header field; null if the request does not have it. */
        public @Nullable String header(String name) {
            List<String> values = headers(name);
            return values.isEmpty() ? null : values.getFirst();
        }

        /** The values of all header fields of a name, in their order. */
        public List<String> headers(String name) {
            return head.lines()
                    .filter(field -> field.regionMatches(true, 0, name + ':', 0, name.length() + 1))
                    .map(field -> field.substring(name.length() + 1).strip())
                    .toList();
        }
    }

    /** The backend's side of a connection. */
    public static final class Conversation {
        private final Socket socket;
        private final InputStream in;
        private final OutputStream out;
        private final List<String> trailers = new ArrayList<>();
        private boolean upgraded;

        Conversation(Socket socket) throws IOException {
            this.socket = socket;
            this.in = new BufferedInputStream(socket.getInputStream());
            this.out = socket.getOutputStream();
        }

        /** The raw input. */
        public InputStream in() {
            return in;
        }

        /** Writes and flushes. */
        public void write(String text) throws IOException {
            write(text.getBytes(StandardCharsets.ISO_8859_1));
        }

        /** Writes and flushes. */
        public void write(byte[] bytes) throws IOException {
            out.write(bytes);
            out.flush();
        }

        /** Writes a whole answer with a {@code Content-Length}. */
        public void answer(int status, String body) throws IOException {
            write("HTTP/1.1 " + status + " X\r\nContent-Type: text/plain\r\nContent-Length: "
                    + body.getBytes(StandardCharsets.UTF_8).length + "\r\n\r\n" + body);
        }

        /** Reads a request's body by its {@code Content-Length} or chunks, and returns its size. */
        public long drain(Request request) throws IOException {
            String length = request.header("content-length");
            if (length != null) {
                in.skipNBytes(Long.parseLong(length));
                return Long.parseLong(length);
            }
            if (request.header("transfer-encoding") == null) {
                return 0;
            }
            long total = 0;
            for (int size = chunkSize(); size > 0; size = chunkSize()) {
                in.skipNBytes(size);
                total += size;
                line();
            }
            trailers.clear();
            for (String field = line(); field != null && !field.isEmpty(); field = line()) {
                trailers.add(field);
            }
            return total;
        }

        /** Reads the size line of a chunk. */
        public int chunkSize() throws IOException {
            String size = line();
            if (size == null) {
                throw new EOFException("in a chunked body");
            }
            return Integer.parseInt(size, 16);
        }

        /** The trailers of the body that {@link #drain} read last. */
        public List<String> trailers() {
            return trailers;
        }

        /** Closes the connection with a RST. */
        public void reset() throws IOException {
            socket.setSoLinger(true, 0);
            socket.close();
        }

        /** Stops reading requests: a WebSocket's frame may contain any byte, line ends included. */
        void upgrade() {
            upgraded = true;
        }

        /** Closes the output: the peer gets a FIN, and may continue to send. */
        public void finish() throws IOException {
            socket.shutdownOutput();
        }

        /** Closes the connection in order: the peer gets a FIN. */
        public void close() throws IOException {
            socket.close();
        }

        /**
         * Waits for the next byte.
         *
         * @throws java.net.SocketTimeoutException if no byte comes in time
         */
        public void awaitNext(int millis) throws IOException {
            socket.setSoTimeout(millis);
            in.mark(1);
            if (in.read() >= 0) {
                in.reset();
            }
            socket.setSoTimeout(0);
        }

        /** Reads a line, and returns it without its line end; null at the end of the input. */
        public @Nullable String line() throws IOException {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int b = in.read(); b != '\n'; b = in.read()) {
                if (b < 0) {
                    return null;
                }
                if (b != '\r') {
                    line.write(b);
                }
            }
            return line.toString(StandardCharsets.ISO_8859_1);
        }
    }

    private final ServerSocket server;
    private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
    private final AtomicInteger requests = new AtomicInteger();
    private final AtomicInteger accepted = new AtomicInteger();
    private final BlockingQueue<Request> heads = new LinkedBlockingQueue<>();
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile Behaviour behaviour;

    private TestBackend(ServerSocket server, Behaviour behaviour) {
        this.server = server;
        this.behaviour = behaviour;
    }

    /** Starts a backend on a free port. */
    public static TestBackend start(Behaviour behaviour) {
        return start(ServerSocketFactory.getDefault(), behaviour);
    }

    /** Starts a backend on a free port, with sockets of a factory. */
    public static TestBackend start(ServerSocketFactory sockets, Behaviour behaviour) {
        try {
            return started(sockets.createServerSocket(0, 1024, InetAddress.getLoopbackAddress()), behaviour);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts a backend at an address of the loopback interface and a port; 0: a free one. */
    public static TestBackend at(String address, int port, Behaviour behaviour) {
        try {
            return started(new ServerSocket(port, 1024, InetAddress.getByName(address)), behaviour);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static TestBackend started(ServerSocket server, Behaviour behaviour) {
        TestBackend backend = new TestBackend(server, behaviour);
        Thread.ofVirtual().start(backend::accept);
        return backend;
    }

    /** Starts a backend that answers 200 with the request's target. */
    public static TestBackend healthy() {
        return start(ECHO);
    }

    /** Reads the request's body, and answers 200 with the request's target. */
    public static final Behaviour ECHO = (request, conversation) -> {
        conversation.drain(request);
        conversation.answer(200, request.target());
    };

    /** Does not answer until the backend is closed. */
    public final Behaviour hang() {
        return (request, conversation) -> closed.await();
    }

    /** Changes the behaviour, and forgets the recorded requests. */
    public void behave(Behaviour next) {
        heads.clear();
        behaviour = next;
    }

    /** Waits for the next request, the oldest first, and returns its head. */
    public Request next() throws InterruptedException {
        return Objects.requireNonNull(
                heads.poll(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS), "a request that has not come");
    }

    /** {@code http://127.0.0.1:port}. */
    public String uri() {
        return "http://127.0.0.1:" + port();
    }

    /** The port. */
    public int port() {
        return server.getLocalPort();
    }

    /** Number of requests since the start, counted when the head is complete. */
    public int requests() {
        return requests.get();
    }

    /** Number of open connections. */
    public int connections() {
        return connections.size();
    }

    /** Number of connections accepted since the start. */
    public int accepted() {
        return accepted.get();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = server.accept();
                connections.add(socket);
                accepted.incrementAndGet();
                Thread.ofVirtual().start(() -> converse(socket));
            }
        } catch (IOException e) {
            // The backend is closed.
        }
    }

    private void converse(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            Conversation conversation = new Conversation(socket);
            for (String first = conversation.line(); first != null; first = conversation.line()) {
                StringBuilder head = new StringBuilder();
                String field = conversation.line();
                for (; field != null && !field.isEmpty(); field = conversation.line()) {
                    head.append(field).append("\r\n");
                }
                if (field == null) {
                    // The head is incomplete: this is no request.
                    return;
                }
                requests.incrementAndGet();
                Request request = new Request(first, head.toString());
                heads.add(request);
                behaviour.serve(request, conversation);
                if (conversation.upgraded) {
                    conversation.in.transferTo(OutputStream.nullOutputStream());
                    return;
                }
            }
        } catch (IOException e) {
            // The gateway closed the connection.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            connections.remove(socket);
        }
    }

    @Override
    public void close() {
        closed.countDown();
        try {
            server.close();
            for (Socket socket : connections) {
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
