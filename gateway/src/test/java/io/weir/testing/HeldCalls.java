package io.weir.testing;

import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A backend that holds each call until the test answers it, and counts the calls that it holds at once. */
public final class HeldCalls implements TestBackend.Behaviour {

    /** A call that waits for the test's answer. */
    public static final class Held {

        private final TestBackend.Request request;
        private final CompletableFuture<TestBackend.Behaviour> then = new CompletableFuture<>();

        private Held(TestBackend.Request request) {
            this.request = request;
        }

        /** The head of the call's request. */
        public TestBackend.Request request() {
            return request;
        }

        /** Answers with 200. */
        public void answer() {
            then(TestBackend.ECHO);
        }

        /** Continues with a behaviour. */
        public void then(TestBackend.Behaviour behaviour) {
            then.complete(behaviour);
        }
    }

    private final BlockingQueue<Held> arrived = new LinkedBlockingQueue<>();
    private final BlockingQueue<Held> all = new LinkedBlockingQueue<>();
    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger most = new AtomicInteger();
    private volatile boolean released;

    @Override
    public void serve(TestBackend.Request request, TestBackend.Conversation conversation)
            throws IOException, InterruptedException {
        calls.incrementAndGet();
        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
        Held held = new Held(request);
        all.add(held);
        arrived.add(held);
        if (released) {
            held.answer();
        }
        TestBackend.Behaviour then = held.then.join();
        // Before the answer: once it is there, the gateway may send the next call.
        inside.decrementAndGet();
        then.serve(request, conversation);
    }

    /** Waits for the next call, the oldest first. */
    public Held next() throws InterruptedException {
        return Objects.requireNonNull(
                arrived.poll(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS), "a call that has not come");
    }

    /** Number of calls since the start. */
    public int calls() {
        return calls.get();
    }

    /** Number of calls held now. */
    public int inside() {
        return inside.get();
    }

    /** The largest number of calls held at once. */
    public int most() {
        return most.get();
    }

    /** Answers all held calls, and all later ones at once. */
    public void release() {
        released = true;
        all.forEach(Held::answer);
    }
}
