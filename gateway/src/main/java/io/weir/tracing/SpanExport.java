package io.weir.tracing;

import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jctools.queues.atomic.MpscAtomicArrayQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exports ended spans on a thread of its own. The thread that ends a span never waits: a span that finds the
 * queue full is dropped and counted.
 */
// Concurrency: the queue is lock-free and bounded. The exporter's thread sets `isParked` before its last look
// at the queue; the span that completes a batch unparks the thread if `isParked` is set. If the span does not
// see `isParked` and the thread does not see the span, the thread wakes by itself after the interval.
final class SpanExport implements SpanProcessor {

    /** Maximum number of spans of one export. */
    static final int BATCH = 512;

    private static final long CLOSE_MILLIS = 2_000;
    private static final long REPORT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final Logger log = LoggerFactory.getLogger(SpanExport.class);

    private final SpanExporter exporter;
    private final int capacity;
    private final long intervalNanos;
    private final long timeoutNanos;
    private final LongSupplier nanoClock;
    private final MpscAtomicArrayQueue<ReadableSpan> queue;
    private final LongAdder exported = new LongAdder();
    private final LongAdder dropped = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final Thread thread;
    private volatile boolean isParked;
    private volatile boolean isClosing;
    private long reported;
    private long reportDueAt;

    /**
     * Starts the exporter's thread.
     *
     * @param capacity maximum number of spans in the queue
     * @param interval longest time that a span waits for its batch to fill
     * @param timeout time for an export; its spans count as failed afterwards
     */
    @SuppressWarnings("ThisEscapedInObjectConstruction")
    SpanExport(SpanExporter exporter, int capacity, Duration interval, Duration timeout, LongSupplier nanoClock) {
        this.exporter = exporter;
        this.capacity = capacity;
        this.queue = new MpscAtomicArrayQueue<>(capacity);
        this.intervalNanos = interval.toNanos();
        this.timeoutNanos = timeout.toNanos();
        this.nanoClock = nanoClock;
        this.reportDueAt = nanoClock.getAsLong();
        this.thread = Thread.ofPlatform().daemon().name("weir-tracing").start(this::run);
    }

    /** Spans that the collector accepted. */
    long exported() {
        return exported.sum();
    }

    /** Spans dropped because the queue was full, or after the shutdown. */
    long dropped() {
        return dropped.sum();
    }

    /** Spans that the collector refused, or did not accept in time. */
    long failed() {
        return failed.sum();
    }

    @Override
    public boolean isStartRequired() {
        return false;
    }

    @Override
    public void onStart(Context parent, ReadWriteSpan span) {}

    @Override
    public boolean isEndRequired() {
        return true;
    }

    @Override
    public void onEnd(ReadableSpan span) {
        if (isClosing || !queue.offerIfBelowThreshold(span, capacity)) {
            dropped.increment();
        } else if (isParked && queue.size() >= BATCH) {
            isParked = false;
            LockSupport.unpark(thread);
        }
    }

    /** Exports the queued spans, for two seconds at most. */
    @Override
    public CompletableResultCode shutdown() {
        isClosing = true;
        LockSupport.unpark(thread);
        try {
            if (!thread.join(Duration.ofMillis(CLOSE_MILLIS))) {
                // Ends the wait for the present export.
                thread.interrupt();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return CompletableResultCode.ofSuccess();
    }

    // ---------------------------------------------------------------- on the exporter's thread

    private void run() {
        boolean last;
        do {
            last = isClosing;
            if (!last) {
                park();
            }
            List<SpanData> batch = nextBatch();
            if (!batch.isEmpty()) {
                export(batch);
            }
            report();
        } while (!last || !queue.isEmpty());
        exporter.shutdown();
    }

    private void park() {
        isParked = true;
        if (queue.size() < BATCH && !isClosing) {
            LockSupport.parkNanos(this, intervalNanos);
        }
        isParked = false;
    }

    private List<SpanData> nextBatch() {
        List<SpanData> batch = new ArrayList<>();
        queue.drain(span -> batch.add(span.toSpanData()), BATCH);
        return batch;
    }

    private void export(List<SpanData> batch) {
        boolean accepted = false;
        try {
            accepted = !Thread.currentThread().isInterrupted()
                    && exporter.export(batch)
                            .join(timeoutNanos, TimeUnit.NANOSECONDS)
                            .isSuccess();
        } catch (RuntimeException e) {
            log.error("Export of spans failed", e);
        }
        (accepted ? exported : failed).add(batch.size());
    }

    private void report() {
        long now = nanoClock.getAsLong();
        long lost = dropped.sum() + failed.sum();
        if (lost > reported && now - reportDueAt >= 0) {
            log.warn("Tracing: {} spans lost, {} since the start", lost - reported, lost);
            reported = lost;
            reportDueAt = now + REPORT_NANOS;
        }
    }
}
