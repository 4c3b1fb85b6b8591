package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a viewer's stream ends; each test has a gateway to itself, since it ends it. */
@Timeout(120)
class DashboardEndIT {

    private static final byte[] REQUEST =
            "GET /actuator/weirstream HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    @Test
    void cutsOffAViewerThatReadsNothing() throws IOException {
        TestGateway.Setup setup = TestGateway.setup();
        for (int i = 0; i < 400; i++) {
            setup.backend("backend-" + i, "http://127.0.0.1:9");
        }
        try (TestGateway gateway = setup.start();
                Socket mute = new Socket()) {
            mute.setReceiveBufferSize(4_096);
            mute.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), gateway.managementPort()));
            mute.getOutputStream().write(REQUEST);
            LiveFeed feed = gateway.bean(LiveFeed.class);
            await().until(() -> feed.viewers() == 1);
            // An event a second has to fill what lies in between first.
            await().atMost(Duration.ofMinutes(1)).until(() -> feed.viewers() == 0);
        }
    }

    @Test
    void endsTheStreamInOrderWhenTheGatewayHasDrained() throws IOException {
        TestGateway gateway = TestGateway.setup().start();
        try (Socket viewer = new Socket(InetAddress.getLoopbackAddress(), gateway.managementPort())) {
            viewer.getOutputStream().write(REQUEST);
            StringBuilder begun = new StringBuilder();
            while (begun.indexOf("event: full") < 0) {
                int read = viewer.getInputStream().read();
                assertThat(read).as("what follows %s", begun).isNotNegative();
                begun.append((char) read);
            }

            gateway.close();

            String rest = new String(viewer.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(rest).endsWith("\r\n0\r\n\r\n");
        }
    }
}
