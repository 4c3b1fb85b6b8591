package io.weir.cluster;

import io.netty.handler.codec.dns.DnsResponseCode;
import io.weir.testing.NameServer;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A DNS server on the loopback interface with one name, which has an address for each gateway. */
public final class FakeDns implements AutoCloseable {

    /** The only name with addresses. */
    public static final String NAME = "gateways.test.";

    private final NameServer server = new NameServer(NAME.substring(0, NAME.length() - 1), List.of());
    private int gateways;
    private boolean isDualStack;

    /** Starts a server. */
    public FakeDns(int gateways) {
        gateways(gateways);
    }

    /** The server's address, {@code address:port}. */
    public String address() {
        return server.address();
    }

    /** Sets the number of gateways; 0: the name does not exist. */
    public void gateways(int now) {
        gateways = now;
        if (now == 0) {
            server.fail(DnsResponseCode.NXDOMAIN);
        } else {
            server.resolveTo(IntStream.rangeClosed(1, now)
                    .boxed()
                    .flatMap(number ->
                            Stream.of("10.0.0." + number, "a00::" + number).limit(isDualStack ? 2 : 1))
                    .toArray(String[]::new));
        }
    }

    /** Adds an IPv6 address for each gateway. */
    public void dualStack() {
        isDualStack = true;
        gateways(gateways);
    }

    /** Stops answering. */
    public void silent() {
        server.silence();
    }

    @Override
    public void close() {
        server.close();
    }
}
