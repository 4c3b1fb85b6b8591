package io.weir.sim.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FaultsRequestHandlerTest {

    private final FaultRegistry registry = new FaultRegistry(() -> 0, (_, _) -> () -> {}, new NoDatabase());

    private static final class NoDatabase implements DatabaseFaults {
        @Override
        public DatabaseHold takeConnections(int connections) {
            throw new AssertionError();
        }

        @Override
        public DatabaseHold lockRow(long row) {
            throw new AssertionError();
        }
    }

    private FaultsRequestHandler.FaultsAnswer get(boolean remote, @Nullable String caller) {
        return new FaultsRequestHandler(registry, new FaultJson(), remote)
                .handle("GET", caller == null ? null : InetAddress.ofLiteral(caller), new byte[0]);
    }

    @Test
    void answersOnlyLocalCallersByDefault() {
        assertThat(get(false, "127.0.0.1").status().value()).isEqualTo(200);
        assertThat(get(false, "::1").status().value()).isEqualTo(200);
        assertThat(get(false, "192.0.2.7").status().value()).isEqualTo(403);
        assertThat(get(false, null).status().value()).isEqualTo(403);
        assertThat(get(true, "192.0.2.7").status().value()).isEqualTo(200);
    }

    @Test
    void listsFaultsAsWritten() {
        FaultJson documents = new FaultJson();
        byte[] written = "{\"kind\":\"latency\",\"delay\":\"20ms\"}".getBytes(java.nio.charset.StandardCharsets.UTF_8);
        FaultsRequestHandler control = new FaultsRequestHandler(registry, documents, false);

        String shown =
                control.handle("PUT", InetAddress.getLoopbackAddress(), written).body();

        assertThat(shown)
                .isEqualTo("{\"faults\":[{\"state\":\"on\",\"hits\":0,\"held\":0,"
                        + "\"fault\":{\"kind\":\"latency\",\"delay\":\"20ms\"}}]}");
        assertThat(registry.plan(org.springframework.http.server.PathContainer.parsePath("/"))
                        .delay())
                .isEqualTo(Duration.ofMillis(20));
    }
}
