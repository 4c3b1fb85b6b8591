package io.weir.dashboard;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The end of a client's stream; each test has its own gateway, which it stops. */
class DashboardEndIT {

    private static final byte[] REQUEST =
            "GET /actuator/weirstream HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    /** {@link LiveFeedTest} has such a client without a connection. */
    @Test
    @Tag("full")
    void disconnectsAClientThatReadsNothing() throws IOException {
        TestGateway.Setup setup = TestGateway.setup();
        // Large events fill the buffers between gateway and client soon.
        for (int i = 0; i < 1_200; i++) {
            setup.backend("backend-" + i, "http://127.0.0.1:9");
        }
        try (TestGateway gateway = setup.start();
                Socket silent = new Socket()) {
            silent.setReceiveBufferSize(4_096);
            silent.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), gateway.managementPort()));
            silent.getOutputStream().write(REQUEST);
            LiveFeed feed = gateway.bean(LiveFeed.class);
            await().until(() -> feed.clients() == 1);
            await().until(() -> feed.clients() == 0);
        }
    }

    @Test
    void endsTheStreamAndItsConnectionAfterTheDrain() throws IOException {
        TestGateway gateway = TestGateway.setup().start();
        try (Socket client = new Socket(InetAddress.getLoopbackAddress(), gateway.managementPort())) {
            client.getOutputStream().write(REQUEST);
            StringBuilder received = new StringBuilder();
            readUntil("event: full", client, received);

            gateway.close();

            readUntil("\r\n0\r\n\r\n", client, received);
            client.setSoTimeout((int) PATIENCE.toMillis());
            assertThat(client.getInputStream().read()).isEqualTo(-1);
        }
    }

    private static void readUntil(String text, Socket client, StringBuilder received) throws IOException {
        while (received.indexOf(text) < 0) {
            int read = client.getInputStream().read();
            assertThat(read).as("next byte after %s", received).isNotNegative();
            received.append((char) read);
        }
    }
}
