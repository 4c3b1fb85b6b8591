package io.weir.instance;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.weir.outcome.Reason;
import io.weir.testing.TestServer;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/** Pools that share the files for their connections. */
class PoolFilesTest {

    private static final int FILES = 8;
    private static final int OF_ONE_POOL = 6;

    private final LoopResources loops = LoopResources.create("pool-files", 1, true);
    private final TestServer server = TestServer.start(HttpServer.create()
            .protocol(HttpProtocol.HTTP11, HttpProtocol.H2C)
            .handle((request, response) -> request.uri().endsWith("hang")
                    ? response.sendHeaders().then(Mono.never())
                    : response.sendString(Mono.just("answer"))));
    private final ConnectionFiles files = new ConnectionFiles(FILES, 4 * FILES, () -> 0);
    private final List<Pool> pools = new ArrayList<>();

    private Pool pool(UpstreamProtocol protocol) {
        Pool pool = new Pool(
                "orders",
                InstanceAddress.of(URI.create("http://127.0.0.1:" + server.port()), 1),
                protocol,
                new ConnectionProperties(PATIENCE, Duration.ofSeconds(4), Duration.ofMinutes(5), 1, null),
                100,
                null,
                loops,
                null,
                new Violations("orders"),
                files);
        pools.add(pool);
        return pool;
    }

    @AfterEach
    void close() {
        pools.forEach(pool -> pool.close().block(PATIENCE));
        server.close();
        loops.disposeLater().block(PATIENCE);
    }

    private static Mono<String> call(Pool pool, String path) {
        return pool.client().get().uri(path).responseSingle((head, body) -> body.asString());
    }

    @Test
    void aPoolWhoseCallsHangLeavesFilesToTheOthers() {
        Pool hanging = pool(UpstreamProtocol.HTTP1);
        Pool other = pool(UpstreamProtocol.HTTP1);
        List<Disposable> calls = new ArrayList<>();
        for (int i = 0; i < OF_ONE_POOL; i++) {
            calls.add(call(hanging, "/hang").subscribe());
        }
        await().atMost(PATIENCE).until(() -> hanging.acquired() == OF_ONE_POOL);
        // One waits; the next one would be one too many.
        calls.add(call(hanging, "/hang").subscribe(answer -> {}, failure -> {}));

        assertThatThrownBy(() -> call(hanging, "/hang").block(PATIENCE))
                .satisfies(
                        failure -> assertThat(Failures.reason(failure, false)).isEqualTo(Reason.BULKHEAD_FULL));
        assertThat(hanging.isShortOfFiles()).isTrue();
        assertThat(call(other, "/").block(PATIENCE)).isEqualTo("answer");

        calls.forEach(Disposable::dispose);
        await().atMost(PATIENCE).until(() -> !hanging.isShortOfFiles());
        assertThat(call(hanging, "/").block(PATIENCE)).isEqualTo("answer");
    }

    @ParameterizedTest
    @EnumSource(UpstreamProtocol.class)
    void aConnectionCountsOnceUntilItIsClosed(UpstreamProtocol protocol) {
        Pool pool = pool(protocol);

        assertThat(call(pool, "/").block(PATIENCE)).isEqualTo("answer");
        assertThat(files.used()).isOne();
        // The second call uses the connection of the first one, as soon as that has ended.
        await().atMost(PATIENCE).until(() -> pool.idle() == 1);
        assertThat(call(pool, "/").block(PATIENCE)).isEqualTo("answer");
        assertThat(files.used()).isOne();

        pool.close().block(PATIENCE);
        await().atMost(PATIENCE).until(() -> files.used() == 0);
    }
}
