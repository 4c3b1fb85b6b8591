package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Error;
import io.weir.engine.Misbehaviour.End;
import io.weir.engine.Misbehaviour.Target;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Backends that violate HTTP in all ways of {@link Misbehaviour}, and their callers. Every answer carries the
 * id of its request, so that a caller knows whether an answer is its own.
 */
final class MisbehavingBackends implements AutoCloseable {

    /** Callers of a wave; each uses one connection for its calls, one after the other. */
    private static final int CALLERS = 8;

    private static final int CALLS = 5;
    /** The exchanges of a wave. */
    static final int WAVE = CALLERS * CALLS;

    private static final String ID = "x-storm";
    private static final String FORGED =
            "HTTP/1.1 200 OK\r\nX-Storm: forged\r\nSet-Cookie: session=stolen\r\n" + "Content-Length: 0\r\n\r\n";
    private static final int UPLOAD_BYTES = 2_000_000;
    private static final int PIECE_BYTES = 100_000;
    private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** An exchange, and what its caller saw. */
    private static final class Call {

        private final int id;
        private final Misbehaviour misbehaviour;
        private final Door door;
        private final boolean isInShutdown;
        private final long at;
        private volatile @Nullable String seen;

        Call(int id, Misbehaviour misbehaviour, Door door, boolean isInShutdown, long at) {
            this.id = id;
            this.misbehaviour = misbehaviour;
            this.door = door;
            this.isInShutdown = isInShutdown;
            this.at = at;
        }

        String path() {
            return door.path(misbehaviour.target.word, misbehaviour.name() + "/" + id);
        }

        @Override
        public String toString() {
            return "exchange " + id + ", " + door + ", " + misbehaviour + ", seen " + seen;
        }
    }

    private final RandomGenerator random;
    private final SSLContext tls;
    private final TestBackend excess = TestBackend.start(this::serve);
    private final TestBackend broken = TestBackend.start(this::serve);
    private final ServerSocket truncating;
    private final TestHttp2Backend lengths = new TestHttp2Backend();
    private final TestHttp2Backend dying = new TestHttp2Backend();
    private final Set<TestBackend.Conversation> conversations = ConcurrentHashMap.newKeySet();
    private final Set<TestHttp2Backend.Stream> dead = ConcurrentHashMap.newKeySet();

    private final List<Misbehaviour> kinds = new ArrayList<>();
    private final List<Call> started = new ArrayList<>();
    private final List<String> unexpected = Collections.synchronizedList(new ArrayList<>());
    private final Map<Misbehaviour, Integer> counts = new EnumMap<>(Misbehaviour.class);

    MisbehavingBackends(RandomGenerator random, SSLContext tls) throws IOException {
        this.random = random;
        this.tls = tls;
        this.truncating = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::acceptTls);
        lengths.behave(this::serve);
        dying.behave(this::serve);
    }

    /** Adds the backends and their routes to a gateway. */
    void addTo(TestGateway.Setup setup, String sslBundle) {
        String deadline = "deadline: 20s";
        setup.backend(Target.EXCESS.word, excess.uri(), deadline)
                .backend(Target.BROKEN.word, broken.uri(), deadline)
                .backend(
                        Target.TLS.word,
                        "https://127.0.0.1:" + truncating.getLocalPort(),
                        deadline,
                        "connection: { ssl-bundle: " + sslBundle + " }")
                .backend(Target.LENGTHS.word, lengths.uri(), deadline, "protocol: h2")
                .backend(Target.DYING.word, dying.uri(), deadline, "protocol: h2");
        for (Target target : Target.values()) {
            setup.route(target.word, target.word);
        }
    }

    /** Faults are evidence against these backends, and must not end their part in the storm. */
    void forceClosed(TestGateway gateway) {
        for (Target target : Target.values()) {
            gateway.backend(target.word).health().operator().forceClosed();
        }
    }

    // ---------------------------------------------------------------- a wave

    /**
     * Starts the exchanges of a wave.
     *
     * @param firstId the first of {@link #WAVE} ids
     * @param moment the time of the last exchanges, near a shutdown
     * @param over counts every exchange that has ended
     */
    void start(TestGateway gateway, int firstId, long moment, boolean isInShutdown, CountDownLatch over) {
        long now = System.nanoTime();
        for (int i = 0; i < CALLERS; i++) {
            List<Call> calls = new ArrayList<>();
            for (int j = 1; j <= CALLS; j++) {
                Door door = random.nextBoolean() ? Door.COMPILED : Door.GENERAL;
                long at = now + (moment - now) * j / CALLS - random.nextLong(LATE_NANOS);
                calls.add(new Call(firstId++, draw(), door, isInShutdown, at));
            }
            started.addAll(calls);
            Thread.ofVirtual().start(() -> callAll(gateway.port(), calls, over));
        }
    }

    /** All kinds in random order, again and again. */
    private Misbehaviour draw() {
        if (kinds.isEmpty()) {
            kinds.addAll(List.of(Misbehaviour.values()));
            Collections.shuffle(kinds, Random.from(random));
        }
        Misbehaviour drawn = kinds.removeLast();
        counts.merge(drawn, 1, Integer::sum);
        return drawn;
    }

    /**
     * After all exchanges of a wave: sends answers that nobody asked for on all idle connections, which must
     * close them, and ends the dead connections.
     */
    void forgeOnIdleConnections() {
        for (TestBackend.Conversation conversation : conversations) {
            try {
                conversation.write(FORGED);
            } catch (IOException e) {
                // The connection is closed.
            }
        }
        conversations.clear();
        dead.forEach(TestHttp2Backend.Stream::disconnect);
        dead.clear();
        await().atMost(TestGateway.PATIENCE)
                .untilAsserted(() -> assertThat(excess.connections() + broken.connections())
                        .as("connections with answers that nobody asked for")
                        .isZero());
    }

    // ---------------------------------------------------------------- the callers

    private void callAll(int port, List<Call> calls, CountDownLatch over) {
        TestCaller caller = null;
        for (Call call : calls) {
            for (long left = call.at - System.nanoTime(); left > 0; left = call.at - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            boolean goesOn = false;
            try {
                caller = caller == null ? TestCaller.to(port) : caller;
                goesOn = call(caller, call);
            } catch (IOException e) {
                call.seen = "a reset or an early end: " + e.getMessage();
                if (call.misbehaviour.end == End.COMPLETE && !call.isInShutdown) {
                    unexpected.add(call.toString());
                }
            } catch (RuntimeException e) {
                unexpected.add(call + ": " + e);
            } finally {
                caller = goesOn ? caller : closed(caller);
                over.countDown();
            }
        }
        closed(caller);
    }

    private static @Nullable TestCaller closed(@Nullable TestCaller caller) {
        try {
            if (caller != null) {
                caller.close();
            }
        } catch (IOException e) {
            // It is closed.
        }
        return null;
    }

    /** Makes one call, and returns whether the connection can be used for another one. */
    private boolean call(TestCaller caller, Call call) throws IOException {
        Misbehaviour misbehaviour = call.misbehaviour;
        String timeout = "X-Request-Timeout: " + misbehaviour.timeout();
        if (misbehaviour.isUpload()) {
            caller.send(TestCaller.head("PUT", call.path(), timeout, "Content-Length: " + UPLOAD_BYTES));
            Thread.ofVirtual().start(() -> upload(caller));
        } else if (misbehaviour.method.equals("POST")) {
            caller.send(TestCaller.head("POST", call.path(), timeout, "Content-Length: 0"));
        } else {
            caller.send(TestCaller.head(misbehaviour.method, call.path(), timeout));
        }
        TestCaller.Answer answer = caller.answer(misbehaviour.method.equals("HEAD"));
        call.seen = answer.status() + " " + answer.headers();
        if (!isExpected(call, answer)) {
            unexpected.add(call + " " + answer.text());
        }
        return !misbehaviour.isUpload() && !"close".equals(answer.header("connection"));
    }

    private static void upload(TestCaller caller) {
        try {
            for (int sent = 0; sent < UPLOAD_BYTES; sent += PIECE_BYTES) {
                caller.send(new byte[PIECE_BYTES]);
            }
        } catch (IOException e) {
            // The gateway or the caller has closed the connection after the answer.
        }
    }

    private static boolean isExpected(Call call, TestCaller.Answer answer) {
        Misbehaviour misbehaviour = call.misbehaviour;
        if (answer.header("proxy-status") != null) {
            return misbehaviour.end != End.COMPLETE || call.isInShutdown;
        }
        boolean hasBody =
                misbehaviour.status != 204 && misbehaviour.status != 304 && !misbehaviour.method.equals("HEAD");
        return misbehaviour.end != End.BROKEN
                && answer.status() == misbehaviour.status
                && Integer.toString(call.id).equals(answer.header(ID))
                && answer.header("set-cookie") == null
                && answer.text().equals(hasBody ? text(call.id) : "");
    }

    // ---------------------------------------------------------------- the backends

    /** The text of an answer, of different lengths. */
    private static String text(int id) {
        return ("the answer to " + id + "; ").repeat(1 + id % 50);
    }

    private static int idOf(String target) {
        return Integer.parseInt(target.substring(target.lastIndexOf('/') + 1));
    }

    private static Misbehaviour of(String target) {
        int end = target.lastIndexOf('/');
        return Misbehaviour.valueOf(target.substring(target.lastIndexOf('/', end - 1) + 1, end));
    }

    private static String head(int status, int id) {
        return "HTTP/1.1 " + status + " X\r\nX-Storm: " + id + "\r\n";
    }

    private static String answer(int status, int id) {
        String text = text(id);
        return head(status, id) + "Content-Length: " + text.length() + "\r\n\r\n" + text;
    }

    private static String beginningOfChunks(int id) {
        String text = text(id);
        return head(200, id) + "Transfer-Encoding: chunked\r\n\r\n" + Integer.toHexString(text.length()) + "\r\n" + text
                + "\r\n";
    }

    private void serve(TestBackend.Request request, TestBackend.Conversation conversation) throws IOException {
        conversations.add(conversation);
        int id = idOf(request.target());
        switch (of(request.target())) {
            case BODY_AFTER_HEAD ->
                conversation.write(head(200, id) + "Content-Length: " + FORGED.length() + "\r\n\r\n" + FORGED);
            case BODY_AFTER_204 -> conversation.write(head(204, id) + "\r\n" + FORGED);
            case BODY_AFTER_304 -> conversation.write(head(304, id) + "ETag: \"a\"\r\n\r\n" + FORGED);
            case SECOND_ANSWER, SECOND_ANSWER_TO_POST -> conversation.write(answer(200, id) + FORGED);
            case SECOND_ANSWER_AFTER_CHUNKS -> conversation.write(beginningOfChunks(id) + "0\r\n\r\n" + FORGED);
            case PART_OF_SECOND_ANSWER -> conversation.write(answer(200, id) + "HTTP/1.1 200 O");
            case GARBAGE_AFTER_ANSWER -> conversation.write(answer(200, id) + "null");
            case GARBAGE_LATER -> {
                conversation.write(answer(200, id));
                LockSupport.parkNanos(id * 31_337L % LATE_NANOS);
                conversation.write("null");
            }
            case CLOSES_AFTER_ANSWER -> {
                conversation.write(answer(200, id));
                conversation.close();
            }
            case CLOSES_IN_LENGTH -> {
                String answer = answer(200, id);
                conversation.write(answer.substring(0, answer.length() - 3));
                conversation.close();
            }
            case CLOSES_IN_CHUNKS -> {
                conversation.write(beginningOfChunks(id));
                conversation.close();
            }
            case RESETS_IN_ANSWER -> {
                conversation.write(beginningOfChunks(id));
                conversation.reset();
            }
            case EARLY_ANSWER -> {
                conversation.in().read();
                conversation.write(answer(413, id));
                // The kernel sends a RST, since bytes are unread.
                conversation.close();
            }
            case SILENT -> conversation.in().transferTo(OutputStream.nullOutputStream());
            default -> conversation.write(answer(200, id));
        }
    }

    private void serve(TestHttp2Backend.Stream stream) throws IOException {
        String target = String.valueOf(stream.head().path());
        int id = idOf(target);
        byte[] text = text(id).getBytes(StandardCharsets.US_ASCII);
        switch (of(target)) {
            case HTTP2_ENDS_WITH_HEAD -> begin(stream, 200, id, text.length, true);
            case HTTP2_SHORTER -> answer(stream, id, text.length + 2, text);
            case HTTP2_LONGER -> answer(stream, id, text.length - 2, text);
            case HTTP2_BODY_AFTER_204 -> {
                begin(stream, 204, id, -1, false);
                stream.write(text);
                stream.end();
            }
            case HTTP2_RESETS_IN_ANSWER -> {
                begin(stream, 200, id, text.length, false);
                stream.write(text[0]);
                stream.reset(Http2Error.INTERNAL_ERROR);
            }
            case HTTP2_EARLY_ANSWER -> {
                stream.awaitBody();
                stream.answerAndReset(fields(413, id, text.length), text, Http2Error.NO_ERROR);
            }
            case HTTP2_GOES_AWAY -> {
                stream.goAway();
                answer(stream, id, text.length, text);
            }
            case HTTP2_DISCONNECTS -> {
                begin(stream, 200, id, text.length, false);
                stream.disconnect();
            }
            case HTTP2_DIES -> {
                dead.add(stream);
                stream.stopReading();
            }
            default -> answer(stream, id, text.length, text);
        }
    }

    private static DefaultHttp2Headers fields(int status, int id, int length) {
        DefaultHttp2Headers fields = new DefaultHttp2Headers();
        fields.status(Integer.toString(status)).setInt(ID, id);
        if (length >= 0) {
            fields.setInt("content-length", length);
        }
        return fields;
    }

    private static void begin(TestHttp2Backend.Stream stream, int status, int id, int length, boolean ends) {
        stream.begin(fields(status, id, length), ends);
    }

    private static void answer(TestHttp2Backend.Stream stream, int id, int length, byte[] text) {
        begin(stream, 200, id, length, false);
        stream.write(text);
        stream.end();
    }

    private void acceptTls() {
        try {
            while (true) {
                Socket connection = truncating.accept();
                Thread.ofVirtual().start(() -> serveTls(connection));
            }
        } catch (IOException e) {
            // The storm is over.
        }
    }

    private void serveTls(Socket connection) {
        try (connection) {
            SSLSocket secured = (SSLSocket) tls.getSocketFactory().createSocket(connection, "127.0.0.1", 0, false);
            secured.setUseClientMode(false);
            TestCaller request = TestCaller.over(secured);
            String line = request.line();
            String target = line.substring(line.indexOf(' ') + 1, line.lastIndexOf(' '));
            while (!request.line().isEmpty()) {
                // The request's head.
            }
            int id = idOf(target);
            Misbehaviour misbehaviour = of(target);
            boolean hasLength = misbehaviour == Misbehaviour.TLS_ENDS_AFTER_LENGTH;
            String answer = hasLength ? answer(200, id) : head(200, id) + "\r\n" + text(id);
            secured.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
            secured.getOutputStream().flush();
            if (misbehaviour == Misbehaviour.TLS_ENDS_IN_ORDER) {
                secured.close();
            }
        } catch (IOException e) {
            // The gateway has closed the connection.
        }
    }

    // ---------------------------------------------------------------- results

    /** The kinds that have not occurred. */
    Collection<String> missing() {
        List<String> missing = new ArrayList<>();
        for (Misbehaviour kind : Misbehaviour.values()) {
            if (!counts.containsKey(kind)) {
                missing.add(kind.name());
            }
        }
        return missing;
    }

    /** The exchanges that have not ended, or in another way than they may. */
    List<String> problems() {
        List<String> problems = new ArrayList<>(unexpected);
        started.stream().filter(call -> call.seen == null).map(Call::toString).forEach(problems::add);
        return problems;
    }

    /** Every caller got its own whole answer, or saw that it did not. */
    void assertExplained(Map<String, List<JsonNode>> log) {
        assertThat(unexpected).as("answers of misbehaving backends").isEmpty();
        for (Call call : started) {
            assertThat(call.seen).as("%s", call).isNotNull();
            List<JsonNode> logged = log.getOrDefault(call.path(), List.of());
            assertThat(logged).as("%s", call).hasSizeLessThan(2);
            for (JsonNode line : logged) {
                String outcome = line.path("outcome").asString();
                assertThat(call.misbehaviour.explains(outcome)
                                || (call.isInShutdown && outcome.equals("shutting-down")))
                        .as("%s: %s", call, line)
                        .isTrue();
            }
        }
    }

    @Override
    public void close() throws IOException {
        excess.close();
        broken.close();
        truncating.close();
        lengths.close();
        dying.close();
    }
}
