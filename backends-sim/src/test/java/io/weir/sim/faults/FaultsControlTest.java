package io.weir.sim.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FaultsControlTest {

    private final FaultBoard board = new FaultBoard(() -> 0, (_, _) -> () -> {}, new NoDatabase());

    private static final class NoDatabase implements DatabaseFaults {
        @Override
        public Seizure takeConnections(int connections) {
            throw new AssertionError();
        }

        @Override
        public Seizure lockRow(long row) {
            throw new AssertionError();
        }
    }

    private FaultsControl.Answer get(boolean remote, @Nullable String caller) {
        return new FaultsControl(board, new FaultsDocuments(), remote)
                .handle("GET", caller == null ? null : InetAddress.ofLiteral(caller), new byte[0]);
    }

    @Test
    void answersCallersOnThisMachineOnlyUnlessToldOtherwise() {
        assertThat(get(false, "127.0.0.1").status().value()).isEqualTo(200);
        assertThat(get(false, "::1").status().value()).isEqualTo(200);
        assertThat(get(false, "192.0.2.7").status().value()).isEqualTo(403);
        assertThat(get(false, null).status().value()).isEqualTo(403);
        assertThat(get(true, "192.0.2.7").status().value()).isEqualTo(200);
    }

    @Test
    void showsWhatIsOnAsItWasWritten() {
        FaultsDocuments documents = new FaultsDocuments();
        byte[] written = "{\"kind\":\"latency\",\"delay\":\"20ms\"}".getBytes(java.nio.charset.StandardCharsets.UTF_8);
        FaultsControl control = new FaultsControl(board, documents, false);

        String shown =
                control.handle("PUT", InetAddress.getLoopbackAddress(), written).body();

        assertThat(shown)
                .isEqualTo("{\"faults\":[{\"state\":\"on\",\"hits\":0,\"held\":0,"
                        + "\"fault\":{\"kind\":\"latency\",\"delay\":\"20ms\"}}]}");
        assertThat(board.plan(org.springframework.http.server.PathContainer.parsePath("/"))
                        .delay())
                .isEqualTo(Duration.ofMillis(20));
    }
}
