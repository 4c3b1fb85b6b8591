package io.weir.tracing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

class SpanExportTest {

    private static final Duration AT_ONCE = Duration.ofMillis(1);
    private static final Duration NEVER = Duration.ofHours(1);
    private static final Duration PATIENT = Duration.ofSeconds(30);

    private final List<Integer> batches = new CopyOnWriteArrayList<>();

    @Test
    void exportsAFullBatchWithoutWaiting() {
        try (SpanExport export = export(1_000, NEVER, batch -> CompletableResultCode.ofSuccess())) {
            end(export, SpanExport.BATCH);

            await().until(() -> export.exported() == SpanExport.BATCH);
            assertThat(batches).containsExactly(SpanExport.BATCH);
        }
    }

    @Test
    void exportsAPartialBatchAfterTheInterval() {
        try (SpanExport export = export(1_000, AT_ONCE, batch -> CompletableResultCode.ofSuccess())) {
            end(export, 1);

            await().until(() -> export.exported() == 1);
        }
    }

    @Test
    void dropsSpansIfTheQueueIsFull() throws InterruptedException {
        CountDownLatch exporting = new CountDownLatch(1);
        CompletableResultCode first = new CompletableResultCode();
        try (SpanExport export = export(3, AT_ONCE, batch -> {
            exporting.countDown();
            return first;
        })) {
            end(export, 1);
            exporting.await();

            end(export, 5);
            assertThat(export.dropped()).isEqualTo(2);

            first.succeed();
            await().until(() -> export.exported() == 4);
            assertThat(export.failed()).isZero();
        }
    }

    @Test
    void countsSpansRefusedByTheCollector() {
        try (SpanExport export = export(1_000, AT_ONCE, batch -> CompletableResultCode.ofFailure())) {
            end(export, 3);

            await().until(() -> export.failed() == 3);
        }
    }

    @Test
    void countsSpansOfATimedOutExport() {
        try (SpanExport export = export(1_000, AT_ONCE, Duration.ofMillis(20), batch -> new CompletableResultCode())) {
            end(export, 3);

            await().until(() -> export.failed() == 3);
        }
    }

    @Test
    void continuesAfterAnExporterThrows() {
        try (SpanExport export = export(1_000, AT_ONCE, batch -> {
            if (batches.size() == 1) {
                throw new IllegalStateException("exporter failed");
            }
            return CompletableResultCode.ofSuccess();
        })) {
            end(export, 1);
            await().until(() -> export.failed() == 1);
            end(export, 1);
            await().until(() -> export.exported() == 1);
        }
    }

    @Test
    void exportsQueuedSpansOnCloseAndDropsLaterOnes() {
        SpanExport export = export(1_000, NEVER, batch -> CompletableResultCode.ofSuccess());
        end(export, 3);

        export.close();
        end(export, 1);

        assertThat(export.exported()).isEqualTo(3);
        assertThat(export.dropped()).isEqualTo(1);
    }

    @Test
    void countsEverySpanOfConcurrentThreads() {
        SpanExport export = export(SpanExport.BATCH, AT_ONCE, batch -> CompletableResultCode.ofSuccess());
        int threads = 4;
        int spansPerThread = 5_000;
        List<CompletableFuture<Void>> enders = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            enders.add(CompletableFuture.runAsync(() -> end(export, spansPerThread)));
        }
        enders.forEach(CompletableFuture::join);

        export.close();

        assertThat(export.exported() + export.dropped()).isEqualTo((long) threads * spansPerThread);
        assertThat(export.exported()).isGreaterThanOrEqualTo(SpanExport.BATCH);
        assertThat(batches.stream().mapToLong(size -> size).sum()).isEqualTo(export.exported());
        assertThat(batches).allMatch(size -> size <= SpanExport.BATCH);
    }

    private SpanExport export(
            int capacity, Duration interval, Function<Collection<SpanData>, CompletableResultCode> exporter) {
        return export(capacity, interval, PATIENT, exporter);
    }

    private SpanExport export(
            int capacity,
            Duration interval,
            Duration timeout,
            Function<Collection<SpanData>, CompletableResultCode> exporter) {
        return new SpanExport(
                new SpanExporter() {
                    @Override
                    public CompletableResultCode export(Collection<SpanData> spans) {
                        batches.add(spans.size());
                        return exporter.apply(spans);
                    }

                    @Override
                    public CompletableResultCode flush() {
                        return CompletableResultCode.ofSuccess();
                    }

                    @Override
                    public CompletableResultCode shutdown() {
                        return CompletableResultCode.ofSuccess();
                    }
                },
                capacity,
                interval,
                timeout,
                System::nanoTime);
    }

    private static void end(SpanExport export, int spans) {
        // Not closed, since that would stop the export.
        Tracer tracer =
                SdkTracerProvider.builder().addSpanProcessor(export).build().get("test");
        for (int i = 0; i < spans; i++) {
            tracer.spanBuilder("one").startSpan().end();
        }
    }
}
