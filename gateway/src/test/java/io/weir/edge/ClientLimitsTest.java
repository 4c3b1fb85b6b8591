package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.NetUtil;
import io.weir.drain.Drain;
import io.weir.edge.ClientUsage.Result;
import io.weir.edge.ClientUsage.Unit;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClientLimitsTest {

    private static final int MANY = 20_000;

    private final ClientLimits limits = limits(5, 3);

    private static ClientLimits limits(@Nullable Integer connections, @Nullable Integer requests) {
        TestEdgeProperties edge = new TestEdgeProperties();
        edge.maxConnectionsPerClient = connections;
        edge.maxRequestsPerClient = requests;
        edge.trustedProxies = List.of("10.0.0.0/8");
        return new ClientLimits(edge.properties(), MANY, TestEdgeProperties.MANY_FILES);
    }

    private static InetAddress address(String text) {
        return Objects.requireNonNull(NetUtil.createInetAddressFromIpAddressString(text), text);
    }

    private @Nullable ClientUsage connect(String address) {
        return limits.addConnection(address(address), 0);
    }

    // ---------------------------------------------------------------- clients

    @ParameterizedTest
    @CsvSource({
        "192.0.2.1, 192.0.2.1, true",
        "192.0.2.1, 192.0.2.2, false",
        "2001:db8::1, 2001:db8::ffff:1, true",
        "2001:db8:0:1::1, 2001:db8:0:2::1, false",
        "::1, ::2, true",
        "127.0.0.1, ::1, false",
        "192.0.2.1, c000:201::1, false",
        // The bits of the IPv4 address stand in another place than those of a network of callers.
        "192.0.2.1, 0:0:c000:201::1, true",
    })
    void recognisesAClient(String one, String other, boolean same) {
        assertThat(ClientLimits.keyOf(address(one)) == ClientLimits.keyOf(address(other)))
                .isEqualTo(same);
    }

    @Test
    void countsAMappedAddressAsItsIpv4Address() throws Exception {
        byte[] mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, (byte) 192, 0, 2, 1};
        InetAddress overIpv6 = Inet6Address.getByAddress(null, mapped, 0);

        assertThat(overIpv6).isInstanceOf(Inet6Address.class);
        assertThat(ClientLimits.keyOf(overIpv6)).isEqualTo(ClientLimits.keyOf(address("192.0.2.1")));
    }

    @Test
    void doesNotCountATrustedProxysConnections() {
        assertThat(limits.counts(address("10.1.2.3"))).isFalse();
        assertThat(limits.counts(address("192.0.2.1"))).isTrue();
    }

    // ---------------------------------------------------------------- counting

    @Test
    void rejectsAConnectionOverTheClientsLimitOnly() {
        for (int i = 0; i < 5; i++) {
            assertThat(connect("192.0.2.1")).isNotNull();
        }
        assertThat(connect("192.0.2.1")).isNull();
        assertThat(connect("192.0.2.1")).isNull();
        assertThat(connect("192.0.2.2")).isNotNull();
        assertThat(limits.rejectedConnections()).isEqualTo(2);
        assertThat(limits.clients()).isEqualTo(2);
    }

    @Test
    void takesAConnectionAgainAfterOneHasEnded() {
        List<ClientUsage> open = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            open.add(Objects.requireNonNull(connect("192.0.2.1")));
        }
        assertThat(connect("192.0.2.1")).isNull();

        limits.remove(open.removeLast(), Unit.CONNECTION);

        assertThat(connect("192.0.2.1")).isNotNull();
        assertThat(connect("192.0.2.1")).isNull();
    }

    @Test
    void forgetsAClientWithoutConnectionsAndRequests() {
        ClientUsage usage = Objects.requireNonNull(connect("192.0.2.1"));
        assertThat(usage.tryAdd(Unit.REQUEST, 3)).isEqualTo(Result.ADDED);

        limits.remove(usage, Unit.CONNECTION);
        assertThat(limits.clients()).isEqualTo(1);
        limits.remove(usage, Unit.REQUEST);

        assertThat(limits.clients()).isZero();
        assertThat(usage.tryAdd(Unit.CONNECTION, 5)).isEqualTo(Result.RETIRED);
        assertThat(connect("192.0.2.1")).isNotNull().isNotSameAs(usage);
    }

    @Test
    void countsConnectionsAndRequestsApart() {
        ClientUsage usage = Objects.requireNonNull(connect("192.0.2.1"));
        for (int i = 0; i < 3; i++) {
            assertThat(usage.tryAdd(Unit.REQUEST, 3)).isEqualTo(Result.ADDED);
        }
        assertThat(usage.tryAdd(Unit.REQUEST, 3)).isEqualTo(Result.FULL);
        assertThat(connect("192.0.2.1")).isSameAs(usage);
        assertThat(usage.count(Unit.CONNECTION)).isEqualTo(2);
        assertThat(usage.count(Unit.REQUEST)).isEqualTo(3);
    }

    /** Threads open and close connections of the same few clients; entries come and go all the time. */
    @Test
    void neverExceedsTheLimitAndReturnsToZeroUnderConcurrency() throws Exception {
        int threads = 4;
        AtomicInteger[] open = {new AtomicInteger(), new AtomicInteger()};
        AtomicInteger admitted = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        ClientLimits shared = limits(2, 3);
        CyclicBarrier start = new CyclicBarrier(threads);
        List<Thread> running = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            running.add(Thread.ofPlatform().start(() -> {
                await(start);
                for (int i = 0; i < 20_000; i++) {
                    int client = i & 1;
                    ClientUsage usage = shared.addConnection(address("192.0.2." + client), 0);
                    if (usage != null) {
                        most.accumulateAndGet(open[client].incrementAndGet(), Math::max);
                        admitted.incrementAndGet();
                        open[client].decrementAndGet();
                        shared.remove(usage, Unit.CONNECTION);
                    }
                }
            }));
        }
        for (Thread thread : running) {
            thread.join();
        }
        assertThat(most).hasValueLessThanOrEqualTo(2);
        assertThat(admitted.get() + shared.rejectedConnections()).isEqualTo(threads * 20_000L);
        assertThat(shared.clients()).isZero();
    }

    private static void await(CyclicBarrier start) {
        try {
            start.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    // ---------------------------------------------------------------- ends of a connection

    private CallerConnection connection(EmbeddedChannel channel, @Nullable ClientUsage usage) {
        EdgeRules rules =
                EdgeRules.of(new TestEdgeProperties().properties(), new Drain(), EdgeListener.NONE, EdgeShedding.NONE);
        return new CallerConnection(channel, rules, limits, usage);
    }

    @Test
    void endsBothCountsOnceWhenAConnectionIsClosed() {
        EmbeddedChannel channel = new EmbeddedChannel();
        ClientUsage usage = Objects.requireNonNull(connect("192.0.2.1"));
        CallerConnection connection = connection(channel, usage);
        assertThat(limits.begin(channel, null)).isNull();
        assertThat(usage.count(Unit.REQUEST)).isEqualTo(1);

        connection.closed();
        connection.closed();
        connection.requestEnds();

        assertThat(limits.clients()).isZero();
    }

    @Test
    void endsTheCountOfARequestThatBeginsAfterTheClose() {
        EmbeddedChannel channel = new EmbeddedChannel();
        CallerConnection connection = connection(channel, null);
        channel.finishAndReleaseAll();
        connection.closed();

        assertThat(limits.begin(channel, address("192.0.2.1"))).isNull();

        assertThat(limits.clients()).isZero();
    }

    @Test
    void countsNoConnectionThatWasClosedBeforeItsProxyHeader() {
        EmbeddedChannel channel = new EmbeddedChannel();
        CallerConnection connection = connection(channel, null);
        channel.finishAndReleaseAll();
        connection.closed();

        assertThat(connection.identify(new InetSocketAddress(address("192.0.2.1"), 1)))
                .isFalse();

        assertThat(limits.clients()).isZero();
        assertThat(limits.rejectedConnections()).isZero();
    }

    // ---------------------------------------------------------------- limits

    @ParameterizedTest
    @CsvSource({
        "20000, 10000, true",
        "3000, 1500, true",
        "1500, 1000, true",
        "1000, 1000, false",
        "10, 1000, false",
    })
    void limitsAClientByDefaultToHalfAndAtLeast1000(int ofAll, int ofOne, boolean limits) {
        TestEdgeProperties edge = new TestEdgeProperties();
        edge.maxConnections = ofAll;

        ClientLimits byDefault = new ClientLimits(edge.properties(), ofAll, TestEdgeProperties.MANY_FILES);

        assertThat(byDefault.connectionLimit()).isEqualTo(ofOne);
        assertThat(byDefault.requestLimit()).isEqualTo(ofOne);
        assertThat(byDefault.counts(address("192.0.2.1"))).isEqualTo(limits);
        assertThat(byDefault.limitsRequests()).isEqualTo(limits);
    }

    @ParameterizedTest
    @CsvSource({
        "20000, , 1024, 256",
        "20000, , 4096, 1024",
        "20000, , 40000, 10000",
        "300, , 1024, 1000",
        "20000, 400, 1024, 400",
    })
    void limitsAClientByDefaultToHalfOfTheConnectionsForWhichThereAreFiles(
            int ofAll, @Nullable Integer configured, long maxFiles, int ofOne) {
        TestEdgeProperties edge = new TestEdgeProperties();
        edge.maxConnections = ofAll;
        edge.maxConnectionsPerClient = configured;

        assertThat(new ClientLimits(edge.properties(), MANY, new OpenFiles(maxFiles)).connectionLimit())
                .isEqualTo(ofOne);
    }

    @Test
    void leavesConnectionsToOthersWhereFilesAreFew() {
        ClientLimits few = new ClientLimits(new TestEdgeProperties().properties(), MANY, new OpenFiles(64));
        for (int i = 0; i < 16; i++) {
            assertThat(few.addConnection(address("192.0.2.1"), 0)).isNotNull();
        }

        assertThat(few.addConnection(address("192.0.2.1"), 0)).isNull();
        assertThat(few.addConnection(address("192.0.2.2"), 0)).isNotNull();
        assertThat(few.rejectedConnections()).isOne();
    }

    @Test
    void countsNothingIfBothLimitsAreOff() {
        ClientLimits off = limits(MANY, MANY);

        assertThat(off.counts(address("192.0.2.1"))).isFalse();
        assertThat(off.limitsRequests()).isFalse();
    }

    @Test
    void doesNotLimitConnectionsIfOnlyRequestsAreLimited() {
        ClientLimits requestsOnly = limits(MANY, 3);

        for (int i = 0; i <= MANY; i++) {
            assertThat(requestsOnly.addConnection(address("192.0.2.1"), 0)).isNotNull();
        }
    }
}
