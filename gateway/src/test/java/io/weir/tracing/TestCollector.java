package io.weir.tracing;

import static com.github.tomakehurst.wiremock.client.WireMock.ok;
import static com.github.tomakehurst.wiremock.client.WireMock.post;
import static com.github.tomakehurst.wiremock.core.WireMockConfiguration.wireMockConfig;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.http.HttpHeaders;
import com.github.tomakehurst.wiremock.http.Request;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.resource.v1.Resource;
import io.opentelemetry.proto.trace.v1.Span;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A collector that receives OTLP over HTTP, and keeps the spans. */
public final class TestCollector implements AutoCloseable {

    private static final String PATH = "/v1/traces";
    /** Longer than any test waits for an export. */
    private static final Duration HANG = Duration.ofMinutes(5);

    private final WireMockServer server =
            new WireMockServer(wireMockConfig().bindAddress("127.0.0.1").dynamicPort());
    private final List<Span> spans = new CopyOnWriteArrayList<>();
    private volatile @Nullable HttpHeaders headers;
    private volatile @Nullable Resource resource;

    private TestCollector(Duration delay) {
        server.stubFor(post(PATH)
                .willReturn(ok().withHeader("Content-Type", "application/x-protobuf")
                        .withFixedDelay((int) delay.toMillis())));
        if (delay.isZero()) {
            server.addMockServiceRequestListener((request, response) -> receive(request));
        }
        server.start();
    }

    /** A collector that accepts everything. */
    public static TestCollector start() {
        return new TestCollector(Duration.ZERO);
    }

    /** A collector that reads everything and does not answer. */
    public static TestCollector hanging() {
        return new TestCollector(HANG);
    }

    /** The URL for traces. */
    public String endpoint() {
        return "http://127.0.0.1:" + server.port() + PATH;
    }

    private void receive(Request request) {
        try {
            ExportTraceServiceRequest export = ExportTraceServiceRequest.parseFrom(request.getBody());
            headers = request.getHeaders();
            export.getResourceSpansList().forEach(of -> {
                resource = of.getResource();
                of.getScopeSpansList().forEach(scope -> spans.addAll(scope.getSpansList()));
            });
        } catch (InvalidProtocolBufferException e) {
            throw new IllegalArgumentException("export: " + e.getMessage() + " (expected: OTLP)", e);
        }
    }

    /** A header of the last export. */
    @Nullable
    String header(String name) {
        HttpHeaders last = headers;
        return last == null || !last.getHeader(name).isPresent()
                ? null
                : last.getHeader(name).firstValue();
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
        server.stop();
    }
}
