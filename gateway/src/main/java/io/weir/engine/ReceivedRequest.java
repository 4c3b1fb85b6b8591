package io.weir.engine;

import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.authentication.ClientCertificate;
import io.weir.limit.Priority;
import io.weir.limit.TenantKey;
import io.weir.outcome.Refusal;
import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/**
 * A caller's request as it was received, whatever the filters of its route change for the backend. The same
 * for both doors.
 *
 * <p>All methods are called on the event loop of {@link #channel()}, which is the exchange's.
 */
public interface ReceivedRequest {

    /** The caller's connection, or its stream of an HTTP/2 connection. */
    Channel channel();

    /** The request's head. */
    HttpHeaders headers();

    /**
     * The caller's scheme, from trusted proxies or the connection: {@code http} or {@code https}; empty if
     * unknown.
     */
    String scheme();

    /** The priority that a trusted proxy has set for the request; null: the route's. Called once. */
    @Nullable
    Priority requestedPriority();

    /**
     * The tenant that the request belongs to; null: none. Called for a request that has to wait, and for one
     * whose result the breaker counts, and only for a key that is no claim.
     */
    @Nullable
    String tenant(TenantKey key);

    /** The caller's address, from trusted proxies or the connection; null: the connection has none. */
    @Nullable
    InetAddress clientAddress();

    /**
     * The caller's address, from trusted proxies or the connection, or of an IPv6 address its network; empty
     * if the connection has none.
     */
    String callerNetwork();

    /** The certificate that the caller has shown in its TLS handshake, trusted by the edge; null: none. */
    @Nullable
    ClientCertificate clientCertificate();

    /** Whether the caller waits for {@code 100 Continue} before it sends the body. */
    default boolean expectsContinue() {
        return headers().contains(HttpHeaderNames.EXPECT, HttpHeaderValues.CONTINUE, true);
    }

    /** The request's trailers; read after the end of the body. */
    HttpHeaders requestTrailers();

    /** Whether the caller asks for a WebSocket. */
    boolean asksForWebSocket();

    /** The path and query of the request as its route was matched: normalised, and before the filters. */
    String forwardedUri();

    /**
     * Writes what the gateway adds to each request into the head of a call that it makes on behalf of this
     * one: the caller's address, scheme and host, the request's id and others.
     *
     * @param toBackend may have some of the caller's fields
     * @param authority the {@code Host} of the instance that the call goes to
     * @param priority the class of the call
     */
    void writeGatewayFields(HttpHeaders toBackend, String authority, Priority priority);

    /**
     * Creates what the heads for the backend have in common, such as the request's id, since two event loops
     * may write two heads at once. On the exchange's event loop.
     */
    default void prepareHeads() {}

    /** The size of the body of the gateway's own answer, in bytes. */
    int refusalBytes(Refusal refusal);

    /**
     * Whether an answer that fails after it has begun ends with trailers that tell the reason (gRPC over
     * HTTP/2); otherwise it is {@linkplain Caller#reset reset}. Callable from any thread.
     */
    boolean readsFailureInTrailers();
}
