package io.weir.body;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Finds the aggregated answers of one event loop that are incomplete after one to two periods of
 * {@value #PERIOD_MILLIS} ms: their backends pause.
 *
 * <p>One task serves all answers, and runs only while there are any. A timer for each answer would cost more
 * than the aggregation saves.
 *
 * <p>Concurrency: confined to its event loop.
 */
final class PauseDetector implements Runnable {

    private static final long PERIOD_MILLIS = 5;

    private static final FastThreadLocal<PauseDetector> OF_THREAD = new FastThreadLocal<>() {
        @Override
        protected PauseDetector initialValue() {
            return new PauseDetector();
        }
    };

    private @Nullable BodyAggregator first;
    private @Nullable EventLoop scheduledOn;

    private PauseDetector() {}

    /** The detector of the present event loop. */
    static PauseDetector ofPresentLoop() {
        return OF_THREAD.get();
    }

    /** Watches an answer until {@link #remove}. */
    void add(BodyAggregator answer, EventLoop loop) {
        answer.next = first;
        if (first != null) {
            first.previous = answer;
        }
        first = answer;
        answer.watch = this;
        if (scheduledOn == null) {
            schedule(loop);
        }
    }

    /** Ends the watch of an answer. */
    void remove(BodyAggregator answer) {
        BodyAggregator before = answer.previous;
        BodyAggregator after = answer.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after != null) {
            after.previous = before;
        }
        answer.previous = null;
        answer.next = null;
        answer.watch = null;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // The task has no result.
    private void schedule(EventLoop loop) {
        scheduledOn = loop;
        loop.schedule(this, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    @Override
    public void run() {
        BodyAggregator answer = first;
        while (answer != null) {
            BodyAggregator after = answer.next;
            if (answer.isSeenIncomplete) {
                remove(answer);
                answer.backendPauses();
            } else {
                answer.isSeenIncomplete = true;
            }
            answer = after;
        }
        EventLoop loop = scheduledOn;
        scheduledOn = null;
        if (first != null && loop != null) {
            schedule(loop);
        }
    }
}
