package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/** A body between a caller and an attempt, both of which the test plays. */
abstract class RequestBodyTests {

    static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);

    final ExchangeFixture fixture = new ExchangeFixture();
    final TwoThreads channel = new TwoThreads();
    final Source source = new Source();
    final Sink sink = new Sink();
    final FakeCaller caller = new FakeCaller(channel);
    final List<ByteBuf> buffers = new ArrayList<>();
    Exchange exchange = exchange();
    RequestBody body = new RequestBody(exchange);

    Exchange exchange() {
        caller.hasBody = true;
        caller.upload = source;
        return new Exchange(fixture.engine, fixture.route(), caller, fixture.now());
    }

    @AfterEach
    void everyBufferIsReleased() {
        body.release();
        channel.runPendingTasks();
        assertThat(buffers).allSatisfy(buffer -> assertThat(buffer.refCnt()).isZero());
        assertThat(fixture.engine.readAheadBytes()).as("bytes that are held").isZero();
    }

    ByteBuf buffer(String bytes) {
        ByteBuf buffer = Unpooled.copiedBuffer(bytes, StandardCharsets.UTF_8);
        buffers.add(buffer);
        return buffer;
    }

    /** Sends a part that is lent, as by Reactor Netty. */
    void send(String bytes) {
        ByteBuf lent = buffer(bytes);
        source.subscriber().onNext(lent);
        lent.release();
    }

    void send(int bytes) {
        send("x".repeat(bytes));
    }

    /** The attempt subscribes, and requests nothing. */
    void subscribe() {
        body.subscribe(sink);
    }

    void subscribe(long demand) {
        subscribe();
        sink.subscription().request(demand);
    }

    /** Whether the exchange ends when it starts, since its caller has left. */
    boolean hasCallerLeft() {
        exchange.start();
        boolean hasLeft = !fixture.ended.isEmpty();
        exchange.callerLeft();
        return hasLeft;
    }

    ReadingAhead reading() {
        Admission admission = new Admission(exchange, exchange.record().route().backend(), null);
        return new ReadingAhead(exchange, admission, body, fixture.now());
    }

    /** The caller's body. It sends only what the test sends, or what its script sends for each request. */
    static final class Source implements Publisher<Object>, Subscription {

        final List<Long> requests = new ArrayList<>();
        int subscriptions;
        int cancelled;
        boolean isSubscribedLater;
        private final Queue<Runnable> script = new ArrayDeque<>();
        private @Nullable Subscriber<? super Object> subscriber;

        @Override
        public void subscribe(Subscriber<? super Object> s) {
            subscriptions++;
            subscriber = s;
            if (!isSubscribedLater) {
                subscribed();
            }
        }

        void subscribed() {
            subscriber().onSubscribe(this);
        }

        void script(Runnable... answers) {
            script.addAll(List.of(answers));
        }

        Subscriber<? super Object> subscriber() {
            return Objects.requireNonNull(subscriber, "nobody reads the body");
        }

        @Override
        public void request(long n) {
            requests.add(n);
            Runnable next = script.poll();
            if (next != null) {
                next.run();
            }
        }

        @Override
        public void cancel() {
            cancelled++;
        }
    }

    /** The attempt that sends the body. */
    static final class Sink implements CoreSubscriber<ByteBuf> {

        final List<String> events = new ArrayList<>();
        Runnable onNext = () -> {};
        private boolean isReceiving;
        private @Nullable Subscription subscription;

        Subscription subscription() {
            return Objects.requireNonNull(subscription, "not subscribed");
        }

        @Override
        public void onSubscribe(Subscription s) {
            subscription = s;
        }

        @Override
        public void onNext(ByteBuf part) {
            events.add((isReceiving ? "nested " : "") + part.toString(StandardCharsets.UTF_8));
            isReceiving = true;
            onNext.run();
            isReceiving = false;
        }

        @Override
        public void onError(Throwable why) {
            events.add("error " + why.getMessage());
        }

        @Override
        public void onComplete() {
            events.add("complete");
        }
    }

    /** A channel whose event loop is another thread's for a while. */
    static final class TwoThreads extends EmbeddedChannel {

        private final EventLoop loop;
        private boolean isElsewhere;

        TwoThreads() {
            EventLoop own = super.eventLoop();
            loop = (EventLoop) Proxy.newProxyInstance(
                    RequestBodyTests.class.getClassLoader(),
                    new Class<?>[] {EventLoop.class},
                    (proxy, method, arguments) -> {
                        if (method.getName().equals("equals")) {
                            return proxy == arguments[0];
                        }
                        if (method.getName().equals("inEventLoop") && arguments == null) {
                            return !isElsewhere;
                        }
                        try {
                            return method.invoke(own, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    });
        }

        /** Runs an event as if on a thread that is not the event loop's. */
        void elsewhere(Runnable event) {
            isElsewhere = true;
            event.run();
            isElsewhere = false;
        }

        @Override
        @SuppressWarnings("ConstantValue") // Null while the superclass is constructed.
        public EventLoop eventLoop() {
            return loop == null ? super.eventLoop() : loop;
        }
    }
}
