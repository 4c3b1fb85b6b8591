package io.weir.cluster;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class GatewayCountTest {

    private static final Duration REFRESH = Duration.ofSeconds(2);

    private final List<Integer> counts = new CopyOnWriteArrayList<>();
    private final List<Integer> ranks = new CopyOnWriteArrayList<>();

    @Test
    void countsAtStartAndFollowsDns() {
        try (FakeDns dns = new FakeDns(2);
                GatewayCount count = count(dns)) {
            assertThat(count.gateways()).isEqualTo(2);

            dns.gateways(5);
            // The number changes just before the listener is notified.
            await().untilAsserted(() -> assertThat(counts).containsExactly(2, 5));
            assertThat(count.gateways()).isEqualTo(5);
        }
    }

    @Test
    void keepsTheNumberIfDnsHasNoAddressOrDoesNotAnswer() {
        try (FakeDns dns = new FakeDns(4);
                GatewayCount count = count(dns)) {
            dns.gateways(0);
            await().until(() -> count.failures() >= 2);
            dns.silent();
            long before = count.failures();
            await().until(() -> count.failures() > before);

            assertThat(count.gateways()).isEqualTo(4);
            assertThat(counts).containsExactly(4);
        }
    }

    @Test
    void countsAGatewayWithAddressesOfBothFamiliesOnce() {
        try (FakeDns dns = new FakeDns(3)) {
            dns.dualStack();
            try (GatewayCount count = count(dns)) {
                assertThat(count.gateways()).isEqualTo(3);
            }
        }
    }

    @Test
    void isZeroForAnUnknownName() {
        try (FakeDns dns = new FakeDns(0);
                GatewayCount count = count(dns)) {
            assertThat(count.gateways()).isZero();
            assertThat(count.failures()).isPositive();
            assertThat(counts).isEmpty();
        }
    }

    @Test
    void followsAChangeAtTheNextRefresh() {
        VirtualDns dns = new VirtualDns(2);
        try (GatewayCount count = virtual(dns)) {
            dns.advance(Duration.ZERO);
            assertThat(counts).containsExactly(2);

            dns.gateways = 5;
            dns.advance(REFRESH.minusNanos(1));
            assertThat(counts).containsExactly(2);
            dns.advance(Duration.ofNanos(1));
            assertThat(counts).containsExactly(2, 5);
            assertThat(count.gateways()).isEqualTo(5);

            dns.gateways = 1;
            dns.advance(REFRESH);
            assertThat(counts).containsExactly(2, 5, 1);
            dns.advance(REFRESH);
            assertThat(counts).containsExactly(2, 5, 1);
            assertThat(dns.asked).isEqualTo(4);
        }
    }

    @Test
    void reportsAChangedRankOfAnUnchangedNumber() {
        VirtualDns dns = new VirtualDns(2);
        try (GatewayCount count = virtual(dns)) {
            dns.advance(Duration.ZERO);
            dns.firstNumber = 1;
            dns.advance(REFRESH);
            dns.firstNumber = 2;
            dns.advance(REFRESH);

            assertThat(counts).containsExactly(2, 2, 2);
            assertThat(ranks).containsExactly(1, 0, Membership.UNKNOWN_RANK);
            assertThat(count.gateways()).isEqualTo(2);
        }
    }

    @Test
    void keepsTheMembershipIfTheAnswerHasNoAddress() {
        VirtualDns dns = new VirtualDns(2);
        try (GatewayCount count = virtual(dns)) {
            dns.advance(Duration.ZERO);
            dns.gateways = 0;
            dns.advance(REFRESH);

            assertThat(counts).containsExactly(2);
            assertThat(count.gateways()).isEqualTo(2);
            assertThat(count.failures()).isEqualTo(1);
        }
    }

    @Test
    void looksUpAgainOneRefreshIntervalAfterALateAnswer() {
        VirtualDns dns = new VirtualDns(2);
        dns.isLate = true;
        try (GatewayCount count = virtual(dns)) {
            dns.advance(REFRESH.multipliedBy(10));
            assertThat(dns.asked).isEqualTo(1);
            assertThat(count.gateways()).isZero();

            dns.answer();
            assertThat(counts).containsExactly(2);
            dns.advance(REFRESH.minusNanos(1));
            assertThat(dns.asked).isEqualTo(1);
            dns.advance(Duration.ofNanos(1));
            assertThat(dns.asked).isEqualTo(2);
        }
    }

    /** The wait counts from the start of the count: other waits of a start may run at the same time. */
    @Test
    void endsTheWaitForTheFirstAnswerAfterABoundedTime() {
        VirtualDns dns = new VirtualDns(2);
        dns.isLate = true;
        try (GatewayCount count = virtual(dns)) {
            CompletableFuture<Void> waiting = CompletableFuture.runAsync(() -> count.awaitFirst(10));
            dns.advance(GatewayCount.FIRST_TIMEOUT.minusNanos(1));
            assertThat(waiting).isNotDone();

            dns.advance(Duration.ofNanos(1));
            assertThat(waiting).succeedsWithin(PATIENCE);
            assertThat(count.gateways()).isZero();

            dns.answer();
            assertThat(counts).containsExactly(2);
        }
    }

    @Test
    void endsTheWaitForTheFirstAnswerWithTheAnswerOrItsClose() {
        VirtualDns dns = new VirtualDns(2);
        dns.isLate = true;
        CompletableFuture<Void> waiting;
        try (GatewayCount count = virtual(dns)) {
            dns.advance(Duration.ZERO);
            waiting = CompletableFuture.runAsync(() -> count.awaitFirst(10));
            assertThat(waiting).isNotDone();
            dns.answer();
            assertThat(waiting).succeedsWithin(PATIENCE);
        }
        VirtualDns silent = new VirtualDns(2);
        silent.isLate = true;
        try (GatewayCount count = virtual(silent)) {
            waiting = CompletableFuture.runAsync(() -> count.awaitFirst(10));
        }
        assertThat(waiting).succeedsWithin(PATIENCE);
    }

    @Test
    void notifiesAFailingListenerAgain() {
        VirtualDns dns = new VirtualDns(2);
        AtomicBoolean isTaken = new AtomicBoolean(true);
        try (GatewayCount count = new GatewayCount(
                FakeDns.NAME,
                REFRESH,
                membership -> {
                    counts.add(membership.gateways());
                    if (!isTaken.get()) {
                        throw new IllegalStateException("not taken");
                    }
                },
                address -> false,
                dns)) {
            dns.advance(Duration.ZERO);
            isTaken.set(false);
            dns.gateways = 3;
            dns.advance(REFRESH);
            assertThat(counts).containsExactly(2, 3);
            assertThat(count.gateways()).isEqualTo(3);
            assertThat(count.failures()).isEqualTo(1);

            isTaken.set(true);
            dns.advance(REFRESH);
            assertThat(counts).containsExactly(2, 3, 3);
            dns.gateways = 4;
            dns.advance(REFRESH);
            dns.advance(REFRESH);
            assertThat(counts).containsExactly(2, 3, 3, 4);
            assertThat(count.failures()).isEqualTo(1);
        }
    }

    @Test
    void continuesAfterARejectedLookup() {
        VirtualDns dns = new VirtualDns(2);
        dns.isUnable = true;
        try (GatewayCount count = virtual(dns)) {
            dns.advance(Duration.ZERO);
            assertThat(count.failures()).isEqualTo(1);

            dns.isUnable = false;
            dns.advance(REFRESH);
            assertThat(counts).containsExactly(2);
        }
    }

    /** A label of 64 characters; the maximum is 63. */
    @Test
    void isZeroForAMalformedName() {
        String name = "g".repeat(64) + ".test.";
        try (FakeDns dns = new FakeDns(1);
                GatewayCount count = new GatewayCount(
                        name,
                        new ClusterProperties(name, dns.address(), Duration.ofMillis(100), 10, true),
                        this::accept)) {
            await().until(() -> count.failures() >= 2);
            assertThat(count.gateways()).isZero();
        }
    }

    @Test
    void queriesServersOfBothAddressFamilies() {
        assertThat(ClusterProperties.address("127.0.0.1:53")).hasToString("/127.0.0.1:53");
        assertThat(ClusterProperties.address("[::1]:65535")).hasToString("/[0:0:0:0:0:0:0:1]:65535");
    }

    /** DNS in virtual time. */
    private static final class VirtualDns implements GatewayCount.Dns {

        private final EmbeddedChannel channel = new EmbeddedChannel();
        private Promise<List<InetAddress>> answer = thread().newPromise();
        private int gateways;
        private int firstNumber;
        private int asked;
        private boolean isLate;
        private boolean isUnable;

        VirtualDns(int gateways) {
            this.gateways = gateways;
            channel.freezeTime();
        }

        @Override
        public EventExecutor thread() {
            return channel.eventLoop();
        }

        @Override
        public Future<List<InetAddress>> addresses() {
            asked++;
            if (isUnable) {
                throw new IllegalArgumentException("no name");
            }
            answer = thread().newPromise();
            if (!isLate) {
                var _ = answer.setSuccess(addresses(firstNumber, gateways));
            }
            return answer;
        }

        void advance(Duration time) {
            // Due tasks run first: tasks that they schedule count from the current time.
            channel.runPendingTasks();
            channel.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
            channel.runPendingTasks();
        }

        void answer() {
            var _ = answer.setSuccess(addresses(firstNumber, gateways));
            channel.runPendingTasks();
        }

        @Override
        public void close() {
            channel.finishAndReleaseAll();
        }

        private static List<InetAddress> addresses(int first, int count) {
            List<InetAddress> addresses = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                addresses.add(address(first + i));
            }
            return addresses;
        }

        private static InetAddress address(int number) {
            try {
                return InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) number});
            } catch (UnknownHostException e) {
                throw new AssertionError(e);
            }
        }
    }

    private void accept(Membership membership) {
        counts.add(membership.gateways());
        ranks.add(membership.rank());
    }

    /** A gateway with the address 10.0.0.1. */
    private GatewayCount virtual(VirtualDns dns) {
        return new GatewayCount(FakeDns.NAME, REFRESH, this::accept, VirtualDns.address(1)::equals, dns);
    }

    private GatewayCount count(FakeDns dns) {
        GatewayCount count = new GatewayCount(
                FakeDns.NAME,
                new ClusterProperties(FakeDns.NAME, dns.address(), Duration.ofMillis(100), 10, true),
                this::accept);
        count.awaitFirst(10);
        return count;
    }
}
