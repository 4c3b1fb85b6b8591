package io.weir.body;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * A body that breaks off after a number of bytes, as if the connection were lost. A body that is not longer
 * passes unchanged. Cancelling the source closes the real connection.
 *
 * <p>Buffers are lent for the time of {@code onNext}, like those of the source. Concurrency: confined to the
 * source's event loop, except demand and cancellation, which pass unchanged.
 */
public final class TruncatedBody extends Flux<Object> {

    private final Publisher<?> source;
    private final long maxBytes;
    private final String message;

    /**
     * A body that is cut.
     *
     * @param source of byte buffers, or holders of them
     * @param maxBytes the bytes that pass
     * @param message of the failure that follows them
     */
    public TruncatedBody(Publisher<?> source, long maxBytes, String message) {
        this.source = source;
        this.maxBytes = maxBytes;
        this.message = message;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Object> actual) {
        source.subscribe(new Cut(actual, maxBytes, message));
    }

    private static final class Cut implements CoreSubscriber<Object> {

        private final CoreSubscriber<? super Object> sink;
        private final String message;
        private long left;
        private boolean isCut;
        private @Nullable Subscription upstream;

        Cut(CoreSubscriber<? super Object> sink, long maxBytes, String message) {
            this.sink = sink;
            this.left = maxBytes;
            this.message = message;
        }

        @Override
        public void onSubscribe(Subscription s) {
            if (Operators.validate(upstream, s)) {
                upstream = s;
                sink.onSubscribe(s);
            }
        }

        @Override
        public void onNext(Object item) {
            if (isCut) {
                return;
            }
            ByteBuf buffer = item instanceof ByteBufHolder holder ? holder.content() : (ByteBuf) item;
            int bytes = buffer.readableBytes();
            if (bytes <= left) {
                left -= bytes;
                sink.onNext(item);
                return;
            }
            isCut = true;
            if (left > 0) {
                sink.onNext(buffer.slice(buffer.readerIndex(), (int) left));
            }
            Subscription s = upstream;
            if (s != null) {
                s.cancel();
            }
            sink.onError(new IOException(message));
        }

        @Override
        public void onError(Throwable failure) {
            if (!isCut) {
                sink.onError(failure);
            }
        }

        @Override
        public void onComplete() {
            if (!isCut) {
                sink.onComplete();
            }
        }
    }
}
