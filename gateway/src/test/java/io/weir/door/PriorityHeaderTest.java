package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.edge.EdgeProperties;
import io.weir.edge.Forwarding;
import io.weir.limit.Priority;
import io.weir.outcome.Refusal;
import java.net.InetSocketAddress;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class PriorityHeaderTest {

    private static final InetSocketAddress PROXY = new InetSocketAddress("10.0.0.1", 1);
    private static final InetSocketAddress STRANGER = new InetSocketAddress("203.0.113.7", 1);

    private final IgnoredPriorities ignored = new IgnoredPriorities();
    private final PriorityHeader header = new PriorityHeader("X-Priority", forwarding(), ignored);

    @ParameterizedTest
    @CsvSource({"critical, CRITICAL", "normal, NORMAL", "sheddable, SHEDDABLE", "Critical, CRITICAL"})
    void readsTheWordOfATrustedProxy(String word, Priority priority) {
        assertThat(header.read(head(word), PROXY)).isEqualTo(priority);
        assertThat(ignored.count).isZero();
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {"critical, CRITICAL", "Sheddable, SHEDDABLE", "urgent, -", "'', -"})
    void countsNothingThatIsReadAgain(String word, @Nullable Priority priority) {
        assertThat(header.peek(head(word), PROXY)).isEqualTo(priority);
        assertThat(header.peek(head(word), STRANGER)).isNull();
        assertThat(header.peek(head(word).add("x-priority", "critical"), PROXY)).isNull();
        Http2Headers http2 = new DefaultHttp2Headers().add("x-priority", word);
        assertThat(header.peek(http2, PROXY)).isEqualTo(priority);
        assertThat(header.peek(http2, STRANGER)).isNull();
        assertThat(ignored.count).isZero();
    }

    @Test
    void ignoresAStranger() {
        assertThat(header.read(head("critical"), STRANGER)).isNull();
        assertThat(header.read(head("critical"), null)).isNull();
        assertThat(ignored.count).isZero();
    }

    @Test
    void countsAnUnknownWord() {
        assertThat(header.read(head("urgent"), PROXY)).isNull();
        assertThat(header.read(head(""), PROXY)).isNull();
        assertThat(ignored.count).isEqualTo(2);
    }

    @Test
    void countsASecondValueBesideAForgedOne() {
        assertThat(header.read(head("critical").add("x-priority", "sheddable"), PROXY))
                .isNull();
        assertThat(ignored.count).isOne();
    }

    @Test
    void takesNothingFromARequestWithoutTheField() {
        assertThat(header.read(new DefaultHttpHeaders(), PROXY)).isNull();
        assertThat(ignored.count).isZero();
    }

    @Test
    void replacesAForgedValueTowardsTheBackend() {
        HttpHeaders head = head("critical").add("X-PRIORITY", "normal");

        header.write(head, Priority.SHEDDABLE);

        assertThat(head.getAll("x-priority")).containsExactly("sheddable");
    }

    @ParameterizedTest
    @CsvSource({"X-Priority, X_Priority", "X-Priority, x.PRIORITY", "X_Priority, X-Priority"})
    void removesOtherSpellingsTowardsTheBackend(String name, String other) {
        HttpHeaders head = new DefaultHttpHeaders().add(other, "critical").add("X-Priorities", "kept");

        new PriorityHeader(name, forwarding(), ignored).write(head, Priority.SHEDDABLE);

        assertThat(head.get(name)).isEqualTo("sheddable");
        assertThat(head.contains(other)).isFalse();
        assertThat(head.get("X-Priorities")).isEqualTo("kept");
    }

    @Test
    void removesEverySpellingFromTrailers() {
        HttpHeaders trailers = head("critical").add("x_priority", "critical").add("X-Checksum", "kept");

        header.removeFrom(trailers);

        assertThat(trailers.names()).containsExactly("X-Checksum");
    }

    private static HttpHeaders head(String priority) {
        return new DefaultHttpHeaders().add("X-Priority", priority);
    }

    private static Forwarding forwarding() {
        return new Forwarding(
                new Binder(new MapConfigurationPropertySource(Map.of("weir.edge.trusted-proxies[0]", "10.0.0.0/8")))
                        .bindOrCreate("weir.edge", EdgeProperties.class));
    }

    private static final class IgnoredPriorities implements DoorListener {

        private int count;

        @Override
        public void refused(Refusal refusal, RequestFacts facts) {}

        @Override
        public void failed(String route, Refusal refusal, long totalNanos, RequestFacts facts) {}

        @Override
        public void answered(String route, int status, long totalNanos, RequestFacts facts) {}

        @Override
        public void priorityIgnored() {
            count++;
        }
    }
}
