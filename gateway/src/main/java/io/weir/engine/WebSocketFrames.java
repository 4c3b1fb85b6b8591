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
 * The frames of one side of a tunnel on their way to the other, whose going away does not cancel them: cancelled, Reactor Netty closes the side that they come from
 * with an empty frame of its own, and how the other side was closed would never be told. What nobody takes any more is dropped.
 *
 * <p>Concurrency: frames come on one side's event loop, demand and cancellation on the other's; {@code gone} is all that they share.
 */
final class WebSocketFrames extends Flux<WebSocketFrame> implements CoreSubscriber<WebSocketFrame>, Subscription {

    private final Publisher<WebSocketFrame> source;
    private final Consumer<WebSocketFrame> passing;
    private @Nullable CoreSubscriber<? super WebSocketFrame> sink;
    private volatile @Nullable Subscription upstream;
    private volatile boolean gone;

    /**
     * Frames that are read once.
     *
     * @param source of frames that are lent for the time of {@code onNext}
     * @param passing told of each
     */
    WebSocketFrames(Publisher<WebSocketFrame> source, Consumer<WebSocketFrame> passing) {
        this.source = source;
        this.passing = passing;
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
        if (!gone) {
            passing.accept(frame);
            sink().onNext(frame.retain());
        }
    }

    @Override
    public void onError(Throwable failure) {
        if (!gone) {
            sink().onError(failure);
        }
    }

    @Override
    public void onComplete() {
        if (!gone) {
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
        gone = true;
        request(Long.MAX_VALUE);
    }

    private CoreSubscriber<? super WebSocketFrame> sink() {
        CoreSubscriber<? super WebSocketFrame> actual = sink;
        if (actual == null) {
            throw new IllegalStateException("a signal before the subscription");
        }
        return actual;
    }
}
