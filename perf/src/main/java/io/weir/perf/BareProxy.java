package io.weir.perf;

import io.netty.handler.codec.http.HttpHeaders;
import java.net.URI;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

/**
 * The minimal proxy on Reactor Netty: no protection, no deadline, no metrics; passes head and body unchanged.
 */
final class BareProxy {

    /** More than any load opens. */
    private static final int MAX_CONNECTIONS = 30_000;

    private record PrefixedBackend(String prefix, HttpClient client) {}

    private BareProxy() {}

    /** Forwards each request to the backend with the longest matching prefix; one of them is {@code /}. */
    static DisposableServer start(int port, Map<String, URI> backends) {
        ConnectionProvider pool = ConnectionProvider.create("bare", MAX_CONNECTIONS);
        List<PrefixedBackend> byPrefix = backends.entrySet().stream()
                .map(entry -> new PrefixedBackend(
                        entry.getKey(),
                        HttpClient.create(pool)
                                .host(entry.getValue().getHost())
                                .port(entry.getValue().getPort())))
                .sorted(Comparator.comparing(backend -> -backend.prefix().length()))
                .toList();
        return LightBackend.serve(
                port,
                (request, response) -> byPrefix.stream()
                        .filter(backend -> request.uri().startsWith(backend.prefix()))
                        .findFirst()
                        .orElseThrow()
                        .client()
                        .request(request.method())
                        .uri(request.uri())
                        .send((toBackend, out) -> {
                            HttpHeaders headers = toBackend.requestHeaders();
                            headers.set(request.requestHeaders());
                            return out.send(request.receive().retain());
                        })
                        .responseConnection((answer, connection) -> {
                            response.status(answer.status());
                            response.headers(answer.responseHeaders());
                            return response.send(connection.inbound().receive().retain());
                        }));
    }
}
