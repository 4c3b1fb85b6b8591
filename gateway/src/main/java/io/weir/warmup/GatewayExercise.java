package io.weir.warmup;

import io.weir.config.BackendProperties;
import io.weir.instance.UpstreamProtocol;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.util.StringUtils;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;

/** Calls to a private gateway, whose backends are of this process, too. */
public final class GatewayExercise implements Exercise {

    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final String SMALL = "w".repeat(200);
    private static final Logger log = LoggerFactory.getLogger(GatewayExercise.class);

    /** What was opened, the latest first. */
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    private final PrivateCallers callers;
    private final List<SecureCallers> secureCallers = new ArrayList<>();

    /**
     * Starts the private gateway and its backends. If that fails, nothing of them remains.
     *
     * @param parts the parts of the gateway that the private one uses
     */
    public GatewayExercise(SharedParts parts) {
        String token = UUID.randomUUID().toString();
        try {
            PrivateBackend backend = new PrivateBackend(token);
            opened.push(backend);
            int http2Port = hasHttp2Backend(parts) ? http2Backend(token, parts) : 0;
            PrivateGateway gateway = new PrivateGateway(
                    parts, PrivateConfiguration.of(token, backend.port(), http2Port, parts.hasGeneralRoutes()));
            opened.push(gateway);
            String folder = basePath(parts) + token;
            callers = new PrivateCallers(
                    gateway.port(),
                    WarmUpCall.round(folder, http2Port != 0, parts.hasGeneralRoutes()),
                    WarmUpCall.timeout(folder));
            opened.push(callers);
            if (gateway.securePort() != 0) {
                addSecureCallers(gateway.securePort(), '/' + folder + "/forward/small", parts);
            }
        } catch (IOException e) {
            close();
            throw new UncheckedIOException(e);
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Spring puts it before the path of each predicate: {@code x/}, or empty. */
    private static String basePath(SharedParts parts) {
        String configured = parts.context().getEnvironment().getProperty("spring.webflux.base-path", "");
        String segments = StringUtils.trimTrailingCharacter(StringUtils.trimLeadingCharacter(configured, '/'), '/');
        return segments.isEmpty() ? "" : segments + '/';
    }

    private static boolean hasHttp2Backend(SharedParts parts) {
        return parts.properties().backends().values().stream()
                .map(BackendProperties::protocol)
                .anyMatch(protocol -> protocol == UpstreamProtocol.H2);
    }

    /** A backend that speaks HTTP/2 without TLS. */
    private int http2Backend(String token, SharedParts parts) {
        DisposableServer server = HttpServer.create()
                .bindAddress(() -> new InetSocketAddress(PrivateConfiguration.LOOPBACK, 0))
                .runOn(parts.loops())
                .protocol(HttpProtocol.H2C)
                .handle((request, response) -> request.uri().contains('/' + token + '/')
                        ? response.header("content-length", String.valueOf(SMALL.length()))
                                .sendString(Mono.just(SMALL))
                        : response.status(404).send())
                .bindNow(TIMEOUT);
        opened.push(() -> server.disposeNow(TIMEOUT));
        return server.port();
    }

    private void addSecureCallers(int port, String target, SharedParts parts) throws IOException {
        for (UpstreamProtocol protocol : UpstreamProtocol.values()) {
            if (protocol != UpstreamProtocol.H2 || parts.speaksHttp2()) {
                SecureCallers secure = new SecureCallers(
                        port, target, protocol, parts.properties().edge().tlsEngine(), parts.loops());
                opened.push(secure);
                secureCallers.add(secure);
            }
        }
    }

    @Override
    public void start() {
        callers.start();
        secureCallers.forEach(SecureCallers::start);
    }

    @Override
    public long answered() {
        return callers.answered()
                + secureCallers.stream().mapToLong(SecureCallers::answered).sum();
    }

    @Override
    public long failed() {
        return callers.failed()
                + secureCallers.stream().mapToLong(SecureCallers::failed).sum();
    }

    @Override
    public void close() {
        while (!opened.isEmpty()) {
            try {
                opened.pop().close();
            } catch (Exception e) {
                log.debug("A part of the warm-up was not closed", e);
            }
        }
    }
}
