package io.weir.body;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.util.context.Context;

/**
 * A body that shows each part to a listener before it passes it on unchanged. Demand passes unchanged, so
 * the listener delays nothing.
 *
 * <p>Concurrency: the listener is called on the source's event loop, except {@link Listener#broken} after a
 * cancellation, which may come from any thread, also while a part is being shown. After a cancellation the
 * body never becomes complete.
 */
public final class CopiedBody extends Flux<Object> {

    /** Receives the parts of the body. */
    public interface Listener {

        /** A part, lent for the time of the call; neither its content nor its indices may be changed. */
        void copy(ByteBuf part);

        /** The body is complete. */
        void complete();

        /** The body has failed, or its receiver has cancelled it. May be called more than once. */
        void broken();
    }

    private final Publisher<?> source;
    private final Listener listener;

    /**
     * A body that is shown.
     *
     * @param source of byte buffers, or holders of them
     */
    public CopiedBody(Publisher<?> source, Listener listener) {
        this.source = source;
        this.listener = listener;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Object> actual) {
        source.subscribe(new Copy(actual, listener));
    }

    private static final class Copy implements CoreSubscriber<Object>, Subscription {

        private final CoreSubscriber<? super Object> sink;
        private final Listener listener;
        private @Nullable Subscription upstream;
        private volatile boolean isCancelled;

        Copy(CoreSubscriber<? super Object> sink, Listener listener) {
            this.sink = sink;
            this.listener = listener;
        }

        @Override
        public Context currentContext() {
            return sink.currentContext();
        }

        @Override
        public void onSubscribe(Subscription s) {
            upstream = s;
            sink.onSubscribe(this);
        }

        @Override
        public void onNext(Object item) {
            listener.copy(item instanceof ByteBufHolder holder ? holder.content() : (ByteBuf) item);
            sink.onNext(item);
        }

        @Override
        public void onError(Throwable failure) {
            listener.broken();
            sink.onError(failure);
        }

        @Override
        public void onComplete() {
            if (!isCancelled) {
                listener.complete();
            }
            sink.onComplete();
        }

        @Override
        public void request(long n) {
            Subscription s = upstream;
            if (s != null) {
                s.request(n);
            }
        }

        @Override
        public void cancel() {
            isCancelled = true;
            listener.broken();
            Subscription s = upstream;
            if (s != null) {
                s.cancel();
            }
        }
    }
}
