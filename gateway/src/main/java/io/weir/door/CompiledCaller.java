package io.weir.door;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.weir.engine.Engine;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.ThrottledLog;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import org.springframework.http.server.PathContainer;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/**
 * The compiled door's caller: reads from and writes to Reactor Netty's server directly.
 *
 * <p>It is also the {@code Mono} that the door returns. Its subscription starts the exchange; its completion
 * makes Reactor Netty end the response; its cancel means that the caller has left.
 */
final class CompiledCaller extends DoorCaller implements Subscription {

    private static final ThrottledLog log = ThrottledLog.of(CompiledCaller.class);

    private final CompiledRoute route;
    private @Nullable CoreSubscriber<? super Void> actual;
    private boolean isCompleted;

    CompiledCaller(
            Engine engine, CompiledRoute route, InboundRequest inbound, long arrivedAtNanos, boolean serverTiming) {
        super(engine, route.route(), inbound, arrivedAtNanos, serverTiming);
        this.route = route;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Void> subscriber) {
        actual = subscriber;
        subscriber.onSubscribe(this);
        exchange.start();
    }

    @Override
    public void request(long n) {}

    @Override
    public void cancel() {
        if (!inbound.isTunnel()) {
            exchange.callerLeft();
        }
    }

    @Override
    public HttpMethod method() {
        return inbound.request().method();
    }

    @Override
    public boolean hasBody() {
        return inbound.hasBody();
    }

    @Override
    public Publisher<?> body() {
        return inbound.request().receiveObject();
    }

    @Override
    public String target() {
        if (route.preservePath()) {
            return BackendTarget.asReceived(
                    inbound.target().receivedPath(), inbound.target().rawQuery());
        }
        String path = inbound.target().path();
        if (route.path().isEmpty()) {
            return inbound.target().pathAndQuery();
        }
        Map<String, String> variables =
                route.usesPathVariables() ? route.matcher().variables(PathContainer.parsePath(path)) : Map.of();
        for (CompiledRoute.PathFilter filter : route.path()) {
            path = filter.apply(path, variables);
        }
        return BackendTarget.of(path, inbound.target().rawQuery());
    }

    @Override
    void writeFields(HttpHeaders toBackend) {
        toBackend.set(inbound.headers());
        inbound.writeForwarded(toBackend);
        for (Consumer<HttpHeaders> filter : route.request()) {
            filter.accept(toBackend);
        }
    }

    @Override
    boolean preservesHost() {
        return route.preserveHost();
    }

    @Override
    public void begin(int status, HttpHeaders headers, Publisher<ByteBuf> body) {
        if (tryWriteHead(status, headers)) {
            inbound.response()
                    .send(ResponseCompression.apply(inbound, status, body))
                    .then()
                    .subscribe(new WriteSubscriber());
        }
    }

    @Override
    public void answer(int status, HttpHeaders headers, ByteBuf body) {
        if (!tryWriteHead(status, headers)) {
            body.release();
            return;
        }
        ByteBuf sent = ResponseCompression.apply(inbound, status, body);
        if (status == HttpResponseStatus.NOT_MODIFIED.code()) {
            // sendObject would replace the Content-Length of the unmodified resource.
            sent.release();
            new WriteSubscriber().onComplete();
            return;
        }
        inbound.response().sendObject(sent).then().subscribe(new WriteSubscriber());
    }

    /** Writes the head; if a filter fails, refuses with an internal error, as the general door does. */
    private boolean tryWriteHead(int status, HttpHeaders headers) {
        try {
            writeResponseHead(status, headers);
            return true;
        } catch (RuntimeException e) {
            log.error(
                    inbound.channel().eventLoop().ticker().nanoTime(),
                    method() + " " + inbound.requestPath() + " failed in a filter",
                    e);
            exchange.abandoned(Reason.INTERNAL_ERROR);
            inbound.response().responseHeaders().clear();
            refuse(Refusal.of(Reason.INTERNAL_ERROR, null));
            return false;
        }
    }

    private void writeResponseHead(int status, HttpHeaders headers) {
        inbound.writeResponseHead(status, headers);
        writeMeasures();
        HttpHeaders head = inbound.response().responseHeaders();
        for (Consumer<HttpHeaders> filter : route.response()) {
            filter.accept(head);
        }
    }

    @Override
    public void refuse(Refusal refusal) {
        ByteBuf body = RefusalResponse.write(inbound, refusal);
        writeQuota();
        inbound.response().sendObject(body).then().subscribe(new WriteSubscriber());
    }

    @Override
    Mono<Void> beforeTunnel() {
        return Mono.empty();
    }

    @Override
    void tunnelEnded(@Nullable Throwable failure) {
        if (failure != null) {
            exchange.callerLeft();
        } else {
            complete();
        }
    }

    @Override
    public void reset() {
        isCompleted = true;
        super.reset();
    }

    /** Learns when Reactor Netty has taken the whole response. */
    private final class WriteSubscriber implements CoreSubscriber<Void> {

        @Override
        public void onSubscribe(Subscription s) {
            s.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Void nothing) {}

        @Override
        public void onComplete() {
            boolean wasPresent = ResponseEnd.isCallerPresent(inbound.channel());
            complete();
            ResponseEnd.reportFlush(inbound, exchange, wasPresent);
        }

        @Override
        public void onError(Throwable failure) {
            // The connection is closed, or the exchange has reset it because the backend has broken off.
            exchange.callerLeft();
            complete();
        }
    }

    private void complete() {
        CoreSubscriber<? super Void> subscriber = actual;
        if (!isCompleted && subscriber != null) {
            isCompleted = true;
            subscriber.onComplete();
        }
    }
}
