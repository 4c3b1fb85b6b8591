package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.edge.RawHttp2Client;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;

/** Callers that upload slowly over HTTP/2 beside healthy ones, on the same connection and on others. */
@ExtendWith(Leaks.class)
class Http2SlowCallersIT {

    private static final String FEW = "few";
    private static final String HUNG = "hung";
    private static final int FEW_PERMITS = 4;
    private static final int SLOW_STREAMS = 60;
    private static final int SLOW_CONNECTIONS = 40;
    private static final int HEALTHY_CALLS = 100;
    private static final int SMALL_BODY = 1_000;
    /** More than is read ahead. */
    private static final int LARGE_BODY = 100_000;

    private static final int FRAME = 10_000;
    private static final int REST = 10;

    private static TestBackend backend;
    private static TestBackend hung;
    private static TestGateway gateway;
    private static final CountDownLatch TEST_IS_OVER = new CountDownLatch(1);

    private final List<Upload> uploads = new ArrayList<>();
    private final List<RawHttp2Client> clients = new ArrayList<>();

    /** A request whose body is incomplete. */
    private record Upload(RawHttp2Client client, int stream) {}

    @BeforeAll
    static void start() {
        backend = TestBackend.start((request, conversation) -> {
            long bytes = request.method().equals("GET") ? 0 : conversation.drain(request);
            conversation.answer(200, "took " + bytes);
        });
        hung = TestBackend.start((request, conversation) -> TEST_IS_OVER.await());
        String patient = "connection: { connect-timeout: 20s }";
        gateway = TestGateway.setup()
                .line("server.http2.enabled: true")
                .backend(
                        FEW,
                        backend.uri(),
                        "deadline: 30s",
                        patient,
                        "bulkhead: { max-concurrent-calls: " + FEW_PERMITS
                                + ", queue-capacity: 200, max-wait-duration: 20s }")
                .backend(HUNG, hung.uri(), "deadline: 50s", patient, "circuit-breaker: { enforce: false }")
                .route(FEW, FEW)
                .route(HUNG, HUNG)
                .start();
    }

    @AfterAll
    static void stop() {
        TEST_IS_OVER.countDown();
        gateway.close();
        backend.close();
        hung.close();
    }

    @AfterEach
    void nothingIsHeld() throws IOException {
        for (RawHttp2Client client : clients) {
            client.close();
        }
        gateway.assertNothingHeld();
        await().until(() -> gateway.bean(Engine.class).readAheadBytes() == 0);
    }

    @Door.Any
    void streamsOfOneConnectionTakeNoPermitWhileTheyUpload(Door door) throws IOException {
        RawHttp2Client client = connect();
        for (int i = 0; i < SLOW_STREAMS; i++) {
            startUpload(client, 2 * i + 1, door, SMALL_BODY);
        }
        assertHealthyBeside(SLOW_STREAMS, door);
        assertAnswered(client, 2 * SLOW_STREAMS + 1, door);

        finishUploads(SMALL_BODY);
    }

    @Door.Any
    void connectionsTakeNoPermitWhileTheyUpload(Door door) throws IOException {
        for (int i = 0; i < SLOW_CONNECTIONS; i++) {
            startUpload(connect(), 1, door, SMALL_BODY);
        }
        assertHealthyBeside(SLOW_CONNECTIONS, door);

        finishUploads(SMALL_BODY);
    }

    @Door.Any
    void streamsMoveToTheStreamsIfTheirBodiesAreLargerThanIsReadAhead(Door door) throws IOException {
        int streams = 12;
        RawHttp2Client client = connect();
        for (int i = 0; i < streams; i++) {
            startUpload(client, 2 * i + 1, door, LARGE_BODY);
        }
        await().until(() -> gateway.backend(FEW).streams().inUse() == streams);
        assertHealthyBeside(streams, door);
        assertAnswered(client, 2 * streams + 1, door);

        finishUploads(LARGE_BODY);
    }

    /** A backend that does not read its requests must not hold up the requests for others. */
    @Door.Any
    void uploadsToAHungBackendHoldUpNoOtherStreamOfTheConnection(Door door) throws IOException {
        int streams = 4;
        RawHttp2Client client = connect();
        for (int i = 0; i < streams; i++) {
            int stream = 2 * i + 1;
            client.headers(stream, RawHttp2Client.post(door.path(HUNG, "upload")), false);
            clogs(client, stream);
        }
        assertAnswered(client, 2 * streams + 1, door);
        for (int i = 0; i < streams; i++) {
            client.reset(2 * i + 1);
        }
    }

    /** Sends until the gateway reads no more of the stream. */
    private static void clogs(RawHttp2Client client, int stream) throws IOException {
        while (client.trySend(stream, FRAME)) {
            // The backend's and the gateway's buffers take some megabytes.
        }
    }

    private RawHttp2Client connect() throws IOException {
        RawHttp2Client client = RawHttp2Client.to(gateway.port());
        clients.add(client);
        return client;
    }

    /** Sends all but the last bytes of a body. */
    private void startUpload(RawHttp2Client client, int stream, Door door, int bytes) throws IOException {
        client.headers(stream, RawHttp2Client.post(door.path(FEW, "upload")), false);
        int left = bytes - REST;
        while (left > 0) {
            int part = Math.min(left, FRAME);
            client.data(stream, part, false);
            left -= part;
        }
        uploads.add(new Upload(client, stream));
    }

    private void assertHealthyBeside(int slow, Door door) throws IOException {
        await().until(() -> gateway.bean(Engine.class).inFlight() == slow);
        assertThat(gateway.backend(FEW).bulkhead().inUse()).isZero();
        for (int i = 0; i < HEALTHY_CALLS; i++) {
            TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path(FEW, "healthy"));
            assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        }
    }

    /** A healthy upload on the same connection. */
    private static void assertAnswered(RawHttp2Client client, int stream, Door door) throws IOException {
        client.headers(stream, RawHttp2Client.post(door.path(FEW, "healthy")), false);
        client.data(stream, FRAME, true);
        assertThat(answer(client, stream)).isEqualTo("took " + FRAME);
    }

    /** The body of an answer with status 200. */
    private static String answer(RawHttp2Client client, int stream) throws IOException {
        assertThat(client.next()).isEqualTo("headers " + stream + " 200");
        StringBuilder body = new StringBuilder();
        String start = "data " + stream + ' ';
        String end = " end";
        while (true) {
            String frame = client.next();
            assertThat(frame).startsWith(start);
            if (frame.endsWith(end)) {
                return body.append(frame, start.length(), frame.length() - end.length())
                        .toString();
            }
            body.append(frame, start.length(), frame.length());
        }
    }

    /** Slow uploads that are alive succeed. */
    private void finishUploads(int bytes) throws IOException {
        for (Upload upload : uploads) {
            upload.client.data(upload.stream, REST, true);
            assertThat(answer(upload.client, upload.stream)).isEqualTo("took " + bytes);
        }
        uploads.clear();
    }
}
