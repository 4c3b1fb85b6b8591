package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class FleetTest {

    private static final String METERS = """
            # TYPE weir_permits_used gauge
            weir_permits_used{backend="mvc"} 2.0
            weir_permits_used{backend="reactive"} 3.0
            weir_inflight 5.0
            """;

    @TempDir
    private Path directory;

    @Test
    void doesNotTakeAMeterThatIsNotThereForZero() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/actuator/prometheus", exchange -> {
            byte[] bytes = METERS.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        try (Bench bench = bench()) {
            URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
            Fleet.Server gateway = new Fleet.Server("gateway", Optional.empty(), uri, uri);
            Fleet fleet = new Fleet(bench);

            assertThat(fleet.meter(gateway, "weir_permits_used")).isEqualTo(5);
            assertThat(fleet.meter(gateway, "weir_permits_used", "backend=\"mvc\""))
                    .isEqualTo(2);
            assertThat(fleet.meter(gateway, "weir_inflight")).isEqualTo(5);
            assertThatThrownBy(() -> fleet.meter(gateway, "weir_permits"))
                    .isInstanceOf(RunFailure.class)
                    .hasMessage("gateway does not tell weir_permits, status 200");
            assertThatThrownBy(() -> fleet.meter(gateway, "weir_permits_used", "backend=\"other\""))
                    .isInstanceOf(RunFailure.class)
                    .hasMessage("gateway does not tell weir_permits_used backend=\"other\", status 200");
        } finally {
            server.stop(0);
        }
    }

    @Test
    void saysWhyAServerTellsNothing() {
        try (Bench bench = bench()) {
            URI nobody = URI.create("http://127.0.0.1:" + Host.freePort());
            Fleet.Server gateway = new Fleet.Server("gateway", Optional.empty(), nobody, nobody);

            assertThatThrownBy(() -> new Fleet(bench).meter(gateway, "weir_inflight"))
                    .isInstanceOf(RunFailure.class)
                    .hasMessage("gateway does not tell weir_inflight: java.net.ConnectException");
        }
    }

    private Bench bench() {
        return new Bench(
                directory,
                true,
                Optional.empty(),
                List.of(),
                new Raw(directory.resolve("raw")),
                Limits.ofGenerator(List.of(0)),
                new Cgroups(),
                new Progress(System.out, false, "bench", 1, Duration.ZERO, Duration.ZERO));
    }
}
