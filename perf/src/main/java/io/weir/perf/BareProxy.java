package io.weir.perf;

import io.netty.handler.codec.http.HttpHeaders;
import java.net.URI;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.ConnectionProvider;

/**
 * The least that a proxy on Reactor Netty can be: no protection, no deadline, nothing counted; the head and the body pass as they are.
 */
public final class BareProxy {

    private static final int MAX_CONNECTIONS = 500;

    private BareProxy() {}

    /** Listens on a port and forwards everything. */
    public static DisposableServer start(int port, URI backend) {
        HttpClient client = HttpClient.create(ConnectionProvider.create("bare", MAX_CONNECTIONS))
                .host(backend.getHost())
                .port(backend.getPort());
        return HttpServer.create()
                .host("127.0.0.1")
                .port(port)
                .handle((request, response) -> client.request(request.method())
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
}
