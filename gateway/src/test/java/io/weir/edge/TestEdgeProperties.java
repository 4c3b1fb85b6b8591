package io.weir.edge;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

/** Builds edge properties for tests: the defaults, except for the fields that a test sets. */
final class TestEdgeProperties {

    int maxConnections = 20_000;

    @Nullable
    Integer maxConnectionsPerClient;

    @Nullable
    Integer maxRequestsPerClient;

    @Nullable
    Integer redirectPort;

    int maxUriLength = 8 * 1024;
    int maxHeaderSize = 16 * 1024;
    int maxHeaderCount = 100;
    int maxConcurrentStreams = 100;
    Duration headTimeout = Duration.ofSeconds(10);
    Duration keepAliveTimeout = Duration.ofSeconds(75);
    List<String> trustedProxies = List.of();
    ProxyProtocol proxyProtocol = ProxyProtocol.OFF;

    @Nullable
    String priorityHeader;

    /** Enough for all connections of a test. */
    static final OpenFiles MANY_FILES = new OpenFiles(1 << 20);

    static EdgeProperties trusting(String... networks) {
        TestEdgeProperties edge = new TestEdgeProperties();
        edge.trustedProxies = List.of(networks);
        return edge.properties();
    }

    /** Limits of clients that count nothing. */
    static ClientLimits unlimitedClients() {
        TestEdgeProperties edge = new TestEdgeProperties();
        edge.maxConnectionsPerClient = edge.maxConnections;
        edge.maxRequestsPerClient = 1;
        return new ClientLimits(edge.properties(), 1, MANY_FILES);
    }

    EdgeProperties properties() {
        return new EdgeProperties(
                maxConnections,
                maxConnectionsPerClient,
                maxRequestsPerClient,
                DataSize.ofBytes(maxUriLength),
                DataSize.ofBytes(maxHeaderSize),
                maxHeaderCount,
                DataSize.ofGigabytes(10),
                maxConcurrentStreams,
                headTimeout,
                Duration.ofSeconds(15),
                Duration.ofSeconds(15),
                DataSize.ofKilobytes(64),
                null,
                DataSize.ofBytes(240),
                keepAliveTimeout,
                DataSize.ofMegabytes(1),
                trustedProxies,
                priorityHeader,
                proxyProtocol,
                false,
                false,
                false,
                redirectPort,
                null,
                DataSize.ofMegabytes(64),
                TlsEngine.AUTO,
                null);
    }
}
