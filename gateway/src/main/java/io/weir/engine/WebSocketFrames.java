package io.weir.engine;

import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * The frames of one side of a tunnel on their way to the other. A cancellation does not reach the source:
 * Reactor Netty would then close the source's side with an empty frame of its own, and the other side's close
 * status would be lost. Frames that arrive after a cancellation are dropped.
 *
 * <p>Concurrency: frames arrive on one side's event loop, demand and cancellation on the other's. The two
 * event loops share only {@code isCancelled}.
 */
final class WebSocketFrames extends Flux<WebSocketFrame> implements CoreSubscriber<WebSocketFrame>, Subscription {

    private final Publisher<WebSocketFrame> source;
    private final Consumer<WebSocketFrame> listener;
    private @Nullable CoreSubscriber<? super WebSocketFrame> sink;
    private volatile @Nullable Subscription upstream;
    private volatile boolean isCancelled;

    /**
     * Frames that are read once.
     *
     * @param source of frames that are lent for the time of {@code onNext}
     * @param listener receives each frame before it passes
     */
    WebSocketFrames(Publisher<WebSocketFrame> source, Consumer<WebSocketFrame> listener) {
        this.source = source;
        this.listener = listener;
    }

    @Override
    public void subscribe(CoreSubscriber<? super WebSocketFrame> actual) {
        sink = actual;
        source.subscribe(this);
    }

    @Override
    public void onSubscribe(Subscription s) {
        upstream = s;
        sink().onSubscribe(this);
    }

    @Override
    public void onNext(WebSocketFrame frame) {
        if (!isCancelled) {
            listener.accept(frame);
            sink().onNext(frame.retain());
        }
    }

    @Override
    public void onError(Throwable failure) {
        if (!isCancelled) {
            sink().onError(failure);
        }
    }

    @Override
    public void onComplete() {
        if (!isCancelled) {
            sink().onComplete();
        }
    }

    @Override
    public void request(long n) {
        Subscription s = upstream;
        if (s != null && Operators.validate(n)) {
            s.request(n);
        }
    }

    @Override
    public void cancel() {
        isCancelled = true;
        request(Long.MAX_VALUE);
    }

    private CoreSubscriber<? super WebSocketFrame> sink() {
        CoreSubscriber<? super WebSocketFrame> actual = sink;
        if (actual == null) {
            throw new IllegalStateException("a signal arrived before the subscription");
        }
        return actual;
    }
}
