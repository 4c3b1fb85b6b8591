package io.weir.edge;

import static io.weir.testing.Patience.PATIENCE;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.weir.drain.Drain;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.NettyOutbound;
import reactor.netty.http.Http11SslContextSpec;
import reactor.netty.http.Http2SslContextSpec;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import reactor.netty.http.server.HttpServerRoutes;
import reactor.netty.tcp.SslProvider.GenericSslContextSpec;

/** A real server on a free port with the gateway's edge handlers and a few test routes. */
@SuppressWarnings("FutureReturnValueIgnored") // The client sees the close.
final class GuardedTestServer implements AutoCloseable {

    /** The protocols that the server accepts. */
    enum Protocols {
        HTTP1,
        HTTP1_OR_H2C,
        TLS_HTTP1,
        TLS_HTTP1_OR_H2;

        HttpProtocol[] toReactorNetty() {
            return switch (this) {
                case HTTP1, TLS_HTTP1 -> new HttpProtocol[] {HttpProtocol.HTTP11};
                case HTTP1_OR_H2C -> new HttpProtocol[] {HttpProtocol.HTTP11, HttpProtocol.H2C};
                case TLS_HTTP1_OR_H2 -> new HttpProtocol[] {HttpProtocol.HTTP11, HttpProtocol.H2};
            };
        }

        boolean isTls() {
            return this == TLS_HTTP1 || this == TLS_HTTP1_OR_H2;
        }
    }

    private static final char[] PASSWORD = "changeit".toCharArray();

    final Drain drain = new Drain();
    final RecordingEdgeListener listener = new RecordingEdgeListener();
    final SwitchedShedding shedding = new SwitchedShedding();
    final EdgeServerCustomizer customizer;
    /** Completes the response of {@code /later}. */
    final CompletableFuture<String> later = new CompletableFuture<>();
    /** The number of requests that reached a route. */
    final AtomicInteger handled = new AtomicInteger();

    private final Protocols protocols;
    private final DisposableServer server;

    GuardedTestServer(Protocols protocols, UnaryOperator<TestEdgeProperties> edge) {
        this.protocols = protocols;
        EdgeProperties properties = edge.apply(new TestEdgeProperties()).properties();
        OpenFiles files = TestEdgeProperties.MANY_FILES;
        this.customizer = new EdgeServerCustomizer(
                properties, drain, new ClientLimits(properties, 20_000, files), listener, shedding, files);
        HttpServer plain = HttpServer.create().host("localhost").port(0).protocol(protocols.toReactorNetty());
        HttpServer secured = protocols.isTls() ? secure(plain, protocols) : plain;
        this.server = customizer.apply(secured).route(this::routes).bindNow();
    }

    static GuardedTestServer start(Protocols protocols) {
        return new GuardedTestServer(protocols, edge -> edge);
    }

    int port() {
        return server.port();
    }

    RawHttp1Client connect() throws Exception {
        if (!protocols.isTls()) {
            return RawHttp1Client.to(port());
        }
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        return new RawHttp1Client(tls.getSocketFactory().createSocket("localhost", port()));
    }

    @Override
    public void close() {
        server.disposeNow(PATIENCE);
        drain.enter(Drain.Phase.REFUSING);
        customizer.connections().drain();
        listener.awaitClosed(listener.opened.get());
    }

    private void routes(HttpServerRoutes routes) {
        routes.get("/hello", (request, response) -> text(response, "hello"))
                .head(
                        "/hello",
                        (request, response) ->
                                response.header("content-length", "5").send())
                .get("/later", (request, response) -> answerLater(response))
                .post("/later", (request, response) -> answerLater(response))
                .post("/echo", (request, response) -> {
                    handled.incrementAndGet();
                    return response.send(request.receive().retain());
                })
                .get(
                        "/hosts",
                        (request, response) -> text(
                                response,
                                request.requestHeaders().getAll("host").toString()))
                .post("/count", this::count)
                .post("/early", (request, response) -> text(response, "early"))
                .post(
                        "/early-large",
                        (request, response) ->
                                response.sendString(Flux.range(0, 1024).map(i -> "x".repeat(1024))))
                .post("/abort", (request, response) -> {
                    request.withConnection(connection -> abortOnceAnswered(connection.channel()));
                    return text(response, "abort");
                })
                .post("/begun", (request, response) -> {
                    handled.incrementAndGet();
                    return response.sendString(Flux.concat(
                            Mono.just("begun"), request.receive().asString().then(Mono.fromFuture(later, true))));
                })
                .ws("/ws", (in, out) -> out.sendString(in.receive().asString()));
    }

    private Publisher<Void> answerLater(HttpServerResponse response) {
        handled.incrementAndGet();
        return response.sendString(Mono.fromFuture(later, true));
    }

    private NettyOutbound text(HttpServerResponse response, String text) {
        handled.incrementAndGet();
        return response.sendObject(Unpooled.copiedBuffer(text, StandardCharsets.UTF_8));
    }

    private static void abortOnceAnswered(Channel channel) {
        channel.eventLoop().execute(() -> {
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            channel.close();
        });
    }

    private Publisher<Void> count(HttpServerRequest request, HttpServerResponse response) {
        handled.incrementAndGet();
        return response.sendString(request.receive()
                .map(buffer -> (long) buffer.readableBytes())
                .reduce(0L, Long::sum)
                .map(String::valueOf));
    }

    private static HttpServer secure(HttpServer server, Protocols protocols) {
        KeyManagerFactory keys = Keys.FACTORY;
        return protocols == Protocols.TLS_HTTP1
                ? server.secure(spec -> spec.sslContext((GenericSslContextSpec<?>)
                        Http11SslContextSpec.forServer(keys).configure(GuardedTestServer::withJdk)))
                : server.secure(spec -> spec.sslContext((GenericSslContextSpec<?>)
                        Http2SslContextSpec.forServer(keys).configure(GuardedTestServer::withJdk)));
    }

    private static void withJdk(SslContextBuilder builder) {
        builder.sslProvider(SslProvider.JDK);
    }

    /** A key that keytool creates once. */
    private static final class Keys {

        static final KeyManagerFactory FACTORY = make();

        private static KeyManagerFactory make() {
            try {
                Path directory = Files.createTempDirectory("weir-edge");
                Path file = directory.resolve("key.p12");
                Process keytool = new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "keytool")
                                        .toString(),
                                "-genkeypair",
                                "-alias",
                                "weir",
                                "-keyalg",
                                "EC",
                                "-dname",
                                "CN=localhost",
                                "-storetype",
                                "PKCS12",
                                "-storepass",
                                new String(PASSWORD),
                                "-keystore",
                                file.toString())
                        .inheritIO()
                        .start();
                if (!keytool.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS) || keytool.exitValue() != 0) {
                    throw new IllegalStateException("keytool failed");
                }
                KeyStore store = KeyStore.getInstance("PKCS12");
                try (InputStream in = Files.newInputStream(file)) {
                    store.load(in, PASSWORD);
                }
                Files.delete(file);
                Files.delete(directory);
                KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
                factory.init(store, PASSWORD);
                return factory;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
