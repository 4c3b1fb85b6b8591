package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.WriteBufferWaterMark;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Bounds the bytes of an answer that wait for their caller: it asks the backend for more only while the
 * caller's channel has room.
 *
 * <p>Reactor Netty's writer asks for 128 buffers at once, a megabyte, and for more when half of them are
 * written. The window passes this demand on in small steps. The bytes that have passed and are not written
 * are the channel's pending bytes, which Netty counts: over HTTP/1.1 those that the socket has not taken,
 * over HTTP/2 those that wait for the caller's window. The channel's high water mark is the size of the
 * window, so the channel itself reports when it has room again.
 *
 * <pre>
 *  limit = bytes that had passed at the last look, plus the room of the channel at that look
 * </pre>
 *
 * <p>Beyond the limit, at most {@value #AHEAD} buffers pass. A look is due when half the window is used, so a
 * caller that reads keeps the backend busy.
 *
 * <p>Concurrency: buffers arrive on the backend's event loop; demand, looks and the channel's events on the
 * caller's. Each counter has one writer. A condition is changed before it is checked by the thread that
 * changes it, so the later one of two threads sees both changes, and no wake-up is lost. A look counts only
 * buffers that were handed to the writer before the look was queued: the writer has written these by then.
 */
final class AnswerWindow extends Flux<ByteBuf> implements CoreSubscriber<ByteBuf>, Subscription {

    /** Buffers that may be on their way; with one alone, the backend would seem held up after each buffer. */
    private static final int AHEAD = 2;

    private static final AtomicLongFieldUpdater<AnswerWindow> DEMAND =
            AtomicLongFieldUpdater.newUpdater(AnswerWindow.class, "demand");
    private static final AtomicIntegerFieldUpdater<AnswerWindow> REQUESTED =
            AtomicIntegerFieldUpdater.newUpdater(AnswerWindow.class, "requested");
    private static final AtomicIntegerFieldUpdater<AnswerWindow> LOOKING =
            AtomicIntegerFieldUpdater.newUpdater(AnswerWindow.class, "looking");

    private final Flux<ByteBuf> body;
    private final Channel caller;
    private final EventLoop callerLoop;
    private final int bytes;

    private @Nullable CoreSubscriber<? super ByteBuf> writer;
    private @Nullable Subscription upstream;
    /** Buffers that the writer takes. */
    private volatile long demand;
    /** Buffers that are asked for and have not arrived. */
    private volatile int requested;
    /** Bytes that were handed to the writer. Written on the backend's event loop. */
    private volatile long passedBytes;
    /** The bytes that may pass in all. Written on the caller's event loop. */
    private volatile long limitBytes;
    /** 1: a look is queued, or follows when the channel is writable again. */
    private volatile int looking;
    /**
     * The writer is asking for more: buffers that arrive now are written later. On the caller's event loop.
     */
    private boolean isWriterAsking;

    /**
     * A window for a body.
     *
     * @param caller the channel to which the body is written
     * @param bytes the size of the window; 0: buffer by buffer
     */
    AnswerWindow(Flux<ByteBuf> body, Channel caller, int bytes) {
        this.body = body;
        this.caller = caller;
        this.callerLoop = caller.eventLoop();
        this.bytes = Math.max(1, bytes);
        this.limitBytes = this.bytes;
    }

    @Override
    public void subscribe(CoreSubscriber<? super ByteBuf> actual) {
        writer = actual;
        if (caller.config().getWriteBufferHighWaterMark() != bytes) {
            caller.config().setWriteBufferWaterMark(new WriteBufferWaterMark(Math.max(1, bytes / 2), bytes));
        }
        body.subscribe(this);
    }

    @Override
    public Context currentContext() {
        CoreSubscriber<? super ByteBuf> actual = writer;
        return actual == null ? Context.empty() : actual.currentContext();
    }

    @Override
    public void onSubscribe(Subscription s) {
        upstream = s;
        writer().onSubscribe(this);
    }

    @Override
    public void onNext(ByteBuf buffer) {
        int more = buffer.readableBytes();
        DEMAND.decrementAndGet(this);
        writer().onNext(buffer);
        long passed = passedBytes + more;
        passedBytes = passed;
        REQUESTED.decrementAndGet(this);
        if (limitBytes - passed <= bytes / 2) {
            planLook(passed);
        }
        requestMore();
    }

    @Override
    public void onError(Throwable failure) {
        writer().onError(failure);
    }

    @Override
    public void onComplete() {
        writer().onComplete();
    }

    @Override
    public void request(long n) {
        Operators.addCap(DEMAND, this, n);
        if (!callerLoop.inEventLoop() || isWriterAsking) {
            requestMore();
            return;
        }
        isWriterAsking = true;
        try {
            requestMore();
        } finally {
            isWriterAsking = false;
        }
    }

    @Override
    public void cancel() {
        Subscription s = upstream;
        if (s != null) {
            s.cancel();
        }
    }

    private void requestMore() {
        Subscription s = upstream;
        if (s == null) {
            return;
        }
        int before = requested;
        while (before < AHEAD && before < demand && passedBytes < limitBytes) {
            if (REQUESTED.compareAndSet(this, before, before + 1)) {
                s.request(1);
            }
            before = requested;
        }
    }

    /** Looks at the channel's room, now or as soon as the writer has written the buffers that have passed. */
    private void planLook(long passed) {
        if (looking != 0 || !LOOKING.compareAndSet(this, 0, 1)) {
            return;
        }
        if (callerLoop.inEventLoop() && !isWriterAsking) {
            look(passed, false);
        } else {
            callerLoop.execute(() -> look(passed, true));
        }
    }

    /**
     * Looks at the channel's room.
     *
     * @param written the bytes that the writer has written at least
     * @param isTask whether further buffers may have passed meanwhile
     */
    private void look(long written, boolean isTask) {
        long room = caller.bytesBeforeUnwritable();
        if (room == 0) {
            awaitRoom();
            return;
        }
        limitBytes = Math.max(limitBytes, written + room);
        looking = 0;
        if (isTask) {
            long passed = passedBytes;
            if (passed > written && passed >= limitBytes && LOOKING.compareAndSet(this, 0, 1)) {
                // As a task: the writer may not have written these buffers yet.
                callerLoop.execute(() -> look(passed, true));
            }
            requestMore();
        }
    }

    private void awaitRoom() {
        caller.pipeline().addFirst(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelWritabilityChanged(ChannelHandlerContext context) {
                context.fireChannelWritabilityChanged();
                if (context.channel().isWritable()) {
                    context.pipeline().remove(this);
                    long passed = passedBytes;
                    callerLoop.execute(() -> look(passed, true));
                }
            }
        });
    }

    private CoreSubscriber<? super ByteBuf> writer() {
        CoreSubscriber<? super ByteBuf> actual = writer;
        if (actual == null) {
            throw new IllegalStateException("a signal arrived before the subscription");
        }
        return actual;
    }
}
