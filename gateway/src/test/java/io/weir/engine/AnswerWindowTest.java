package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

class AnswerWindowTest {

    private static final int WINDOW_BYTES = 1_000;
    private static final int PART_BYTES = 100;
    /** The writer takes more than the window has room for. */
    private static final int WRITERS_DEMAND = 128;
    /** Netty counts more than the bytes of each part. */
    private static final int FULL = WINDOW_BYTES / PART_BYTES + 2;

    private final EmbeddedChannel caller = new EmbeddedChannel();
    private final Backend backend = new Backend();
    private final AnswerWindow window = new AnswerWindow(backend, caller, WINDOW_BYTES);
    private final Writer writer = new Writer();

    @AfterEach
    void release() {
        caller.finishAndReleaseAll();
    }

    @Test
    void passesNoMoreThanItsBytesWhileTheCallerReadsNothing() {
        start(WRITERS_DEMAND);
        backend.sendsAll();

        assertThat(backend.sent).isBetween(FULL / 2, FULL);
        assertThat(caller.isWritable()).isFalse();
    }

    @Test
    void passesMoreWhenTheCallerHasRead() {
        start(WRITERS_DEMAND);
        for (int i = 0; i < 5; i++) {
            backend.sendsAll();
            int before = backend.sent;
            callerReads();
            backend.sendsAll();
            assertThat(backend.sent).isBetween(before + FULL / 2, before + FULL);
        }
    }

    @Test
    void alwaysAsksForMoreIfTheCallerReadsAtOnce() {
        writer.flushesAtOnce = true;
        start(WRITERS_DEMAND);
        for (int i = 1; i < WRITERS_DEMAND; i++) {
            backend.sends();
            assertThat(backend.requested).as("after %d", i).isGreaterThan(i);
        }
    }

    @Test
    void passesNoMoreBuffersThanTheWriterTakes() {
        start(3);
        backend.sendsAll();
        assertThat(backend.sent).isEqualTo(3);

        window.request(2);
        backend.sendsAll();
        assertThat(backend.sent).isEqualTo(5);
    }

    /** Reactor Netty's writer asks for more before it writes: what arrives meanwhile is pending nowhere. */
    @Test
    void countsBuffersThatTheWriterHasNotWrittenYet() {
        start(1);
        backend.sendsAll();
        callerReads();
        writer.isAsking = true;
        backend.sendsAtOnce = true;
        window.request(WRITERS_DEMAND);
        assertThat(backend.sent).isBetween(FULL / 2, FULL);

        backend.sendsAtOnce = false;
        writer.writesWhatItHas();
        callerReads();
        backend.sendsAll();
        assertThat(backend.sent).as("it goes on").isGreaterThan(FULL);
    }

    @Test
    void passesBufferByBufferWithoutBytes() {
        AnswerWindow none = new AnswerWindow(backend, caller, 0);
        none.subscribe(writer);
        none.request(WRITERS_DEMAND);
        backend.sendsAll();
        assertThat(backend.sent).isEqualTo(2);

        callerReads();
        backend.sendsAll();
        assertThat(backend.sent).isGreaterThan(2);
    }

    private void start(int demand) {
        window.subscribe(writer);
        window.request(demand);
    }

    private void callerReads() {
        caller.flush();
        caller.releaseOutbound();
        caller.runPendingTasks();
    }

    /** Sends parts as they are asked for. */
    private final class Backend extends Flux<ByteBuf> implements Subscription {

        private @Nullable CoreSubscriber<? super ByteBuf> reader;
        private int requested;
        private int sent;
        private boolean sendsAtOnce;
        private boolean isSending;

        @Override
        public void subscribe(CoreSubscriber<? super ByteBuf> actual) {
            reader = actual;
            actual.onSubscribe(this);
        }

        @Override
        public void request(long n) {
            requested += (int) n;
            if (sendsAtOnce && !isSending) {
                isSending = true;
                while (requested > sent) {
                    sends();
                }
                isSending = false;
            }
        }

        @Override
        public void cancel() {}

        void sendsAll() {
            while (requested > sent) {
                sends();
                caller.runPendingTasks();
            }
        }

        void sends() {
            sent++;
            CoreSubscriber<? super ByteBuf> to = reader;
            if (to != null) {
                to.onNext(Unpooled.buffer(PART_BYTES).writeZero(PART_BYTES));
            }
        }
    }

    private final class Writer extends BaseSubscriber<ByteBuf> {

        private final ArrayDeque<ByteBuf> unwritten = new ArrayDeque<>();
        private boolean flushesAtOnce;
        private boolean isAsking;

        @Override
        protected void hookOnSubscribe(Subscription subscription) {}

        @Override
        protected void hookOnNext(ByteBuf buffer) {
            if (isAsking) {
                unwritten.add(buffer);
                return;
            }
            write(buffer);
            if (flushesAtOnce) {
                caller.flush();
                caller.releaseOutbound();
            }
        }

        void writesWhatItHas() {
            isAsking = false;
            unwritten.forEach(this::write);
            unwritten.clear();
        }

        private void write(ByteBuf buffer) {
            ChannelFuture unused = caller.write(buffer);
        }
    }
}
