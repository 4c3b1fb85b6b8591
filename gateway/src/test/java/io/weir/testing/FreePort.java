package io.weir.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports for servers that cannot choose one themselves.
 *
 * <p>They are below the system's ephemeral ports. An ephemeral port that was found to be free may belong to
 * a connection or server of another test before the server opens it.
 */
public final class FreePort {

    private static final int FIRST = 12_000;
    private static final int END = 28_000;

    private FreePort() {}

    /** A port of 127.0.0.1 from 12000 to 27999 on which nobody listens now. */
    public static int next() {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, END);
            try (ServerSocket free = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return free.getLocalPort();
            } catch (IOException inUse) {
                // Another port is tried.
            }
        }
    }
}
