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
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes spans that have ended, and has them exported by a thread of its own. Whoever ends a span never waits: one that finds
 * the queue full is dropped and counted.
 */
// Concurrency: `waiting` is raised before a span is put into the queue and lowered after it was taken out, so the queue
// is never longer than it says. The thread is woken by the span that makes a batch full; if that comes before it parks,
// it does not park.
final class SpanExport implements SpanProcessor {

    /** Spans that are exported at once. */
    static final int BATCH = 512;

    private static final long CLOSE_MILLIS = 2_000;
    private static final long REPORT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final Logger log = LoggerFactory.getLogger(SpanExport.class);

    private final SpanExporter exporter;
    private final int capacity;
    private final long intervalNanos;
    private final long timeoutNanos;
    private final LongSupplier nanoClock;
    private final ConcurrentLinkedQueue<ReadableSpan> queue = new ConcurrentLinkedQueue<>();
    private final AtomicInteger waiting = new AtomicInteger();
    private final LongAdder exported = new LongAdder();
    private final LongAdder dropped = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final Thread thread;
    private volatile boolean closing;
    private long reported;
    private long reportDueAt;

    /**
     * Starts the exporter's thread.
     *
     * @param capacity spans that may wait
     * @param interval longest time that a span waits for others
     * @param timeout time for a batch, after which it is given up
     */
    @SuppressWarnings("ThisEscapedInObjectConstruction")
    SpanExport(SpanExporter exporter, int capacity, Duration interval, Duration timeout, LongSupplier nanoClock) {
        this.exporter = exporter;
        this.capacity = capacity;
        this.intervalNanos = interval.toNanos();
        this.timeoutNanos = timeout.toNanos();
        this.nanoClock = nanoClock;
        this.reportDueAt = nanoClock.getAsLong();
        this.thread = Thread.ofPlatform().daemon().name("weir-tracing").start(this::run);
    }

    /** Spans that the collector has taken. */
    long exported() {
        return exported.sum();
    }

    /** Spans that found the queue full. */
    long dropped() {
        return dropped.sum();
    }

    /** Spans that the collector has not taken in time, or refused. */
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
        int now = waiting.incrementAndGet();
        if (now > capacity || closing) {
            waiting.decrementAndGet();
            dropped.increment();
            return;
        }
        queue.add(span);
        if (now == BATCH) {
            LockSupport.unpark(thread);
        }
    }

    /** Exports what waits, for two seconds at most. */
    @Override
    public CompletableResultCode shutdown() {
        closing = true;
        LockSupport.unpark(thread);
        try {
            if (!thread.join(Duration.ofMillis(CLOSE_MILLIS))) {
                // The exporter waits for what is under way, unless it is interrupted.
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
            last = closing;
            if (!last && waiting.get() < BATCH) {
                LockSupport.parkNanos(this, intervalNanos);
            }
            List<SpanData> batch = take();
            if (!batch.isEmpty()) {
                export(batch);
            }
            report();
        } while (!last || waiting.get() > 0);
        exporter.shutdown();
    }

    private List<SpanData> take() {
        List<SpanData> batch = new ArrayList<>();
        ReadableSpan span = queue.poll();
        while (span != null) {
            waiting.decrementAndGet();
            batch.add(span.toSpanData());
            span = batch.size() < BATCH ? queue.poll() : null;
        }
        return batch;
    }

    private void export(List<SpanData> batch) {
        boolean taken = false;
        try {
            taken = !Thread.currentThread().isInterrupted()
                    && exporter.export(batch)
                            .join(timeoutNanos, TimeUnit.NANOSECONDS)
                            .isSuccess();
        } catch (RuntimeException e) {
            log.error("Spans cannot be exported", e);
        }
        (taken ? exported : failed).add(batch.size());
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
