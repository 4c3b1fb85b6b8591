package io.weir.tracing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceResponse;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.resource.v1.Resource;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/** A collector that receives OTLP over HTTP, and keeps the spans. */
public final class TestCollector implements AutoCloseable {

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final List<Span> spans = new CopyOnWriteArrayList<>();
    private final CountDownLatch hanging;
    private volatile @Nullable Headers headers;
    private volatile @Nullable Resource resource;

    private TestCollector(CountDownLatch hanging) throws IOException {
        this.hanging = hanging;
        this.server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/v1/traces", this::receive);
        server.start();
    }

    /** A collector that accepts everything. */
    public static TestCollector start() {
        return start(new CountDownLatch(0));
    }

    /** A collector that reads everything and never answers. */
    public static TestCollector hanging() {
        return start(new CountDownLatch(1));
    }

    private static TestCollector start(CountDownLatch hanging) {
        try {
            return new TestCollector(hanging);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The URL for traces. */
    public String endpoint() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/v1/traces";
    }

    private void receive(HttpExchange exchange) throws IOException {
        try (exchange;
                GZIPInputStream body = new GZIPInputStream(exchange.getRequestBody())) {
            ExportTraceServiceRequest request = ExportTraceServiceRequest.parseFrom(body);
            hanging.await();
            headers = exchange.getRequestHeaders();
            request.getResourceSpansList().forEach(of -> {
                resource = of.getResource();
                of.getScopeSpansList().forEach(scope -> spans.addAll(scope.getSpansList()));
            });
            byte[] answer = ExportTraceServiceResponse.getDefaultInstance().toByteArray();
            exchange.getResponseHeaders().set("Content-Type", "application/x-protobuf");
            exchange.sendResponseHeaders(200, answer.length == 0 ? -1 : answer.length);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A header of the last export. */
    @Nullable
    String header(String name) {
        Headers last = headers;
        return last == null ? null : last.getFirst(name);
    }

    /** The resource attributes of the last export. */
    Map<String, Object> resource() {
        Resource last = resource;
        return last == null ? Map.of() : attributes(last.getAttributesList());
    }

    /** All spans received so far. */
    public List<Span> spans() {
        return List.copyOf(spans);
    }

    /** The only server span of a path; waits for it. The spans of its attempts arrive before it. */
    Span server(String path) {
        Predicate<Span> isIt = span -> span.getKind() == Span.SpanKind.SPAN_KIND_SERVER
                && path.equals(attributes(span).get("url.path"));
        await().until(() -> spans.stream().anyMatch(isIt));
        List<Span> found = spans.stream().filter(isIt).toList();
        assertThat(found).as("server spans of %s", path).hasSize(1);
        return found.getFirst();
    }

    /** The child spans of a span, in the order of their start. */
    List<Span> below(Span parent) {
        return spans.stream()
                .filter(span -> span.getParentSpanId().equals(parent.getSpanId()))
                .sorted((one, other) -> Long.compare(one.getStartTimeUnixNano(), other.getStartTimeUnixNano()))
                .toList();
    }

    /** The attributes of a span. */
    static Map<String, Object> attributes(Span span) {
        return attributes(span.getAttributesList());
    }

    private static Map<String, Object> attributes(List<KeyValue> attributes) {
        return attributes.stream().collect(Collectors.toMap(KeyValue::getKey, each -> value(each.getValue())));
    }

    private static Object value(AnyValue value) {
        return switch (value.getValueCase()) {
            case STRING_VALUE -> value.getStringValue();
            case INT_VALUE -> value.getIntValue();
            case DOUBLE_VALUE -> value.getDoubleValue();
            default -> throw new IllegalStateException("an attribute of another type: " + value);
        };
    }

    /** An id in the format of {@code traceparent}. */
    public static String hex(ByteString id) {
        return HexFormat.of().formatHex(id.toByteArray());
    }

    @Override
    public void close() {
        hanging.countDown();
        server.stop(0);
        threads.shutdown();
    }
}
