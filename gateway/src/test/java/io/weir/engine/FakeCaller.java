package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.authentication.ClientCertificate;
import io.weir.limit.Priority;
import io.weir.limit.TenantKey;
import io.weir.outcome.Refusal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/** A caller that records the calls of the engine. */
final class FakeCaller implements Caller, ReceivedRequest {

    /** The size of the body of each refusal. */
    static final int REFUSAL_BYTES = 120;

    final HttpHeaders headers = new DefaultHttpHeaders();
    final List<String> received = new ArrayList<>();
    HttpMethod method = HttpMethod.GET;
    String address = "192.0.2.1";
    boolean hasBody;
    boolean webSocket;

    @Nullable
    Priority requestedPriority;

    @Nullable
    String tenant;

    @Nullable
    ClientCertificate clientCertificate;

    int tenantsRead;
    Publisher<?> upload = Mono.empty();

    /** Receives the body of an answer that is passed on as it arrives. */
    Consumer<Publisher<ByteBuf>> download = body -> {};

    @Nullable
    Refusal refusal;

    /** The body of a complete answer. */
    volatile String answered = "";

    private final Channel channel;

    FakeCaller(Channel channel) {
        this.channel = channel;
    }

    /** The recorded calls, in order. */
    String events() {
        return received.isEmpty() ? "nothing" : String.join(", ", received);
    }

    @Override
    public ReceivedRequest received() {
        return this;
    }

    @Override
    public Channel channel() {
        return channel;
    }

    @Override
    public HttpMethod method() {
        return method;
    }

    @Override
    public String scheme() {
        return "http";
    }

    @Override
    public HttpHeaders headers() {
        return headers;
    }

    @Override
    public @Nullable Priority requestedPriority() {
        return requestedPriority;
    }

    @Override
    public @Nullable String tenant(TenantKey key) {
        tenantsRead++;
        return tenant;
    }

    @Override
    public InetAddress clientAddress() {
        return new InetSocketAddress(address, 0).getAddress();
    }

    @Override
    public String callerNetwork() {
        return address;
    }

    @Override
    public @Nullable ClientCertificate clientCertificate() {
        return clientCertificate;
    }

    @Override
    public boolean hasBody() {
        return hasBody;
    }

    @Override
    public Publisher<?> body() {
        return upload;
    }

    @Override
    public HttpHeaders requestTrailers() {
        return EmptyHttpHeaders.INSTANCE;
    }

    @Override
    public String target() {
        return "/";
    }

    @Override
    public void writeHead(HttpHeaders toBackend, String authority) {}

    @Override
    public String forwardedUri() {
        return "/orders?id=1";
    }

    @Override
    public void writeGatewayFields(HttpHeaders toBackend, String authority, Priority priority) {
        toBackend.set("host", authority);
    }

    @Override
    public void begin(int status, HttpHeaders head, Publisher<ByteBuf> body) {
        received.add("begin " + status);
        download.accept(body);
    }

    @Override
    public void answer(int status, HttpHeaders head, ByteBuf body) {
        received.add("answer " + status);
        answered = body.toString(StandardCharsets.UTF_8);
        body.release();
    }

    @Override
    public int refusalBytes(Refusal given) {
        return REFUSAL_BYTES;
    }

    @Override
    public void refuse(Refusal given) {
        refusal = given;
        received.add("refuse " + given.reason().word());
    }

    @Override
    public boolean asksForWebSocket() {
        return webSocket;
    }

    @Override
    public void upgrade(
            @Nullable String subprotocol,
            HttpHeaders fromBackend,
            int maxFrameBytes,
            BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        received.add("upgrade");
    }

    @Override
    public void reset() {
        received.add("reset");
    }

    @Override
    public boolean readsFailureInTrailers() {
        return false;
    }

    @Override
    public void trailers(HttpHeaders trailers) {
        received.add("trailers");
    }
}
