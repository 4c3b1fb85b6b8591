package io.weir.perf;

import io.netty.handler.codec.http.HttpHeaders;
import java.net.URI;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.ConnectionProvider;

/**
 * The least that a proxy on Reactor Netty can be: no protection, no deadline, nothing counted; the head and the body pass as they are.
 */
public final class BareProxy {

    /** More than anybody asks for: it has no limit. */
    private static final int MAX_CONNECTIONS = 30_000;

    private BareProxy() {}

    /** Listens on a port and forwards everything. */
    public static DisposableServer start(int port, URI backend) {
        return start(port, Map.of("/", backend));
    }

    /** Listens on a port and forwards to the backend with the longest prefix of the path; one is {@code /}. */
    static DisposableServer start(int port, Map<String, URI> backends) {
        ConnectionProvider pool = ConnectionProvider.create("bare", MAX_CONNECTIONS);
        List<Map.Entry<String, HttpClient>> clients = backends.entrySet().stream()
                .sorted(Comparator.comparing(entry -> -entry.getKey().length()))
                .map(entry -> Map.entry(
                        entry.getKey(),
                        HttpClient.create(pool)
                                .host(entry.getValue().getHost())
                                .port(entry.getValue().getPort())))
                .toList();
        return HttpServer.create()
                .host("127.0.0.1")
                .port(port)
                .handle((request, response) -> client(clients, request.uri())
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
                        }))
                .bindNow();
    }

    private static HttpClient client(List<Map.Entry<String, HttpClient>> clients, String path) {
        for (Map.Entry<String, HttpClient> client : clients) {
            if (path.startsWith(client.getKey())) {
                return client.getValue();
            }
        }
        return clients.getLast().getValue();
    }
}
