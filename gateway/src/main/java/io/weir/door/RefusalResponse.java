package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.errorpage.ErrorPage;
import io.weir.outcome.Problem;
import io.weir.outcome.Refusal;
import reactor.core.publisher.Mono;

/** The gateway's own response to a request that it refuses. */
final class RefusalResponse {

    private RefusalResponse() {}

    /** Writes the gateway's own response into the head, and returns its body. */
    static ByteBuf write(InboundRequest inbound, Refusal refusal) {
        HttpHeaders head = inbound.beginRefusal();
        if (Problem.isGrpc(inbound.headers())) {
            Problem.writeGrpc(refusal, head);
            return Unpooled.EMPTY_BUFFER;
        }
        inbound.response().status(refusal.httpStatus());
        Problem.writeHead(refusal, head);
        ByteBuf body = body(inbound, refusal, head);
        if (!HttpMethod.HEAD.equals(inbound.request().method())) {
            return body;
        }
        // The length of the response to a GET.
        head.remove(HttpHeaderNames.TRANSFER_ENCODING);
        head.set(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(body.readableBytes()));
        body.release();
        return Unpooled.EMPTY_BUFFER;
    }

    /** The operator's page, or the problem in JSON. */
    private static ByteBuf body(InboundRequest inbound, Refusal refusal, HttpHeaders head) {
        byte[] page = inbound.errorPage(refusal);
        if (page == null) {
            return Problem.body(refusal, inbound.requestId(), inbound.channel().alloc());
        }
        head.set(HttpHeaderNames.CONTENT_TYPE, ErrorPage.CONTENT_TYPE);
        return Unpooled.wrappedBuffer(page);
    }

    /** Sends the gateway's own response, which no exchange supervises. */
    static Mono<Void> send(InboundRequest inbound, Refusal refusal) {
        ByteBuf body = write(inbound, refusal);
        return inbound.response().sendObject(body).then().doOnSuccess(nothing -> ResponseEnd.limitReadTime(inbound));
    }
}
