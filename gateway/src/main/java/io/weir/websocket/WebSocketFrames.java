package io.weir.websocket;

import io.netty.handler.codec.http.websocketx.CorruptedWebSocketFrameException;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators.DeferredSubscription;

/**
 * The frames of one side of a tunnel on their way to the other. A cancellation does not reach the source:
 * Reactor Netty would then close the source's side with an empty frame of its own, and the other side's close
 * status would be lost. Frames that arrive after a cancellation are dropped.
 *
 * <p>The subscriber receives its subscription at once, and not from the source, which passes it on from the
 * other event loop. Reactor Netty's writer completes when its channel closes, even if it has no subscription
 * yet. Such an end is lost, and the tunnel stayed open until its idle time-out.
 *
 * <p>Concurrency: frames arrive on one side's event loop, demand and cancellation on the other's. The two
 * event loops share only {@code isCancelled}, {@code violation} and the deferred subscription, which is
 * atomic.
 */
public final class WebSocketFrames extends Flux<WebSocketFrame>
        implements CoreSubscriber<WebSocketFrame>, Subscription {

    private final Publisher<WebSocketFrame> source;
    private final TunnelGate gate;
    private final Consumer<WebSocketFrame> listener;
    private final DeferredSubscription upstream = new DeferredSubscription();
    private @Nullable CoreSubscriber<? super WebSocketFrame> sink;
    private volatile boolean isCancelled;
    private volatile @Nullable WebSocketCloseStatus violation;

    /**
     * Frames that are read once.
     *
     * @param source of frames that are lent for the time of {@code onNext}
     * @param gate learns of each frame
     * @param listener receives each frame before it passes
     */
    public WebSocketFrames(Publisher<WebSocketFrame> source, TunnelGate gate, Consumer<WebSocketFrame> listener) {
        this.source = source;
        this.gate = gate;
        this.listener = listener;
    }

    /**
     * The status with which Reactor Netty has closed the source's side since that side broke the protocol;
     * null: it has not.
     */
    @Nullable
    public WebSocketCloseStatus violation() {
        return violation;
    }

    @Override
    public void subscribe(CoreSubscriber<? super WebSocketFrame> actual) {
        sink = actual;
        actual.onSubscribe(this);
        source.subscribe(this);
    }

    @Override
    public void onSubscribe(Subscription s) {
        upstream.set(s);
    }

    @Override
    public void onNext(WebSocketFrame frame) {
        gate.passed();
        if (!isCancelled) {
            listener.accept(frame);
            sink().onNext(frame.retain());
        }
    }

    @Override
    public void onError(Throwable failure) {
        if (failure instanceof CorruptedWebSocketFrameException corrupted) {
            violation = corrupted.closeStatus();
        }
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
        upstream.request(n);
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
