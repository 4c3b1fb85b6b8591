package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.Channel;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/**
 * A backend of Reactor Netty on a free port of 127.0.0.1. It has event loops of its own, so that the end of a
 * gateway does not concern it.
 */
public final class TestServer implements AutoCloseable {

    private static final LoopResources LOOPS = LoopResources.create("test-server", 2, true);

    private final Set<Channel> open = ConcurrentHashMap.newKeySet();
    private final DisposableServer server;

    private TestServer(HttpServer configured) {
        server = configured
                .runOn(LOOPS)
                .host("127.0.0.1")
                .port(0)
                .doOnChannelInit((observer, channel, address) -> track(channel))
                .bindNow(Patience.PATIENCE);
    }

    /** Starts a backend with a configuration that says what it answers. */
    public static TestServer start(HttpServer configured) {
        return new TestServer(configured);
    }

    @SuppressWarnings("FutureReturnValueIgnored") // The listener's is the future itself.
    private void track(Channel channel) {
        open.add(channel);
        channel.closeFuture().addListener(closed -> open.remove(channel));
    }

    /** The port. */
    public int port() {
        return server.port();
    }

    /** The number of open connections. */
    public int connections() {
        return open.size();
    }

    /** Ends the backend, after its callers: asserts that they have left no connection open. */
    @Override
    public void close() {
        server.disposeNow(Patience.PATIENCE);
        await().untilAsserted(() ->
                assertThat(open).as("open connections of %s", server).isEmpty());
    }
}
