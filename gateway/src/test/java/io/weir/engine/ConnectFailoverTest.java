package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalIoHandler;
import io.netty.resolver.AbstractAddressResolver;
import io.netty.resolver.AddressResolver;
import io.netty.resolver.AddressResolverGroup;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Promise;
import io.weir.drain.Drain;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadProperties;
import io.weir.testing.SocketBackend;
import io.weir.testing.TestBackend;
import io.weir.testing.TestRoute;
import io.weir.testing.UnwillingPort;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A name with several addresses, of which the first never answers. */
class ConnectFailoverTest {

    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final String SILENT = "127.0.0.2";
    private static final String ALSO_SILENT = "127.0.0.3";

    private final EventLoopGroup callers = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
    private final List<ExchangeRecord> ended = new CopyOnWriteArrayList<>();
    private final TestBackend server = TestBackend.healthy();

    @AfterEach
    void stop() throws InterruptedException {
        callers.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        server.close();
    }

    @Test
    void connectsToTheNextAddressIfTheFirstNeverAnswers() throws Exception {
        try (UnwillingPort silent = UnwillingPort.silent(new InetSocketAddress(SILENT, server.port()))) {
            ExchangeRecord record = ask(SILENT, "127.0.0.1");

            assertThat(silent.uri()).isEqualTo("http://127.0.0.1:" + server.port());
            assertThat(record.status()).isEqualTo(200);
            assertThat(record.attempts()).isOne();
            assertThat(server.requests()).isOne();
        }
    }

    @Test
    void refusesWithConnectTimeoutAfterTheLastAddress() throws Exception {
        try (UnwillingPort first = UnwillingPort.silent(new InetSocketAddress(SILENT, server.port()));
                UnwillingPort second = UnwillingPort.silent(new InetSocketAddress(ALSO_SILENT, server.port()))) {
            ExchangeRecord record = ask(SILENT, ALSO_SILENT);

            assertThat(first.uri()).isEqualTo(second.uri());
            assertThat(record.reason()).hasToString("CONNECT_TIMEOUT");
            assertThat(record.totalNanos())
                    .as("each address has the whole time-out")
                    .isGreaterThanOrEqualTo(
                            SocketBackend.CONNECT_TIMEOUT.multipliedBy(2).toNanos());
        }
    }

    private ExchangeRecord ask(String... addresses) throws Exception {
        try (SocketBackend backend = new SocketBackend(
                URI.create("http://orders.test:" + server.port()), DEADLINE, null, new FixedAddresses(addresses))) {
            Engine engine = new Engine(
                    System::nanoTime,
                    () -> 0.5,
                    new Drain(),
                    new OverloadGuard(new OverloadProperties(
                            100, Duration.ofMinutes(1), Duration.ofMillis(100), Duration.ofMinutes(1), 100)),
                    new Limits(1000, DEADLINE.toNanos(), DEADLINE.toNanos(), 1000, 64, 1 << 20, 0));
            LocalChannel channel = new LocalChannel();
            callers.register(channel).sync();
            FakeCaller caller = new FakeCaller(channel);
            Route route =
                    TestRoute.to(backend.backend, ended::add).deadline(DEADLINE).build();
            Exchange exchange = new Exchange(engine, route, caller, System.nanoTime());
            channel.eventLoop().execute(exchange::start);
            await().until(() -> !caller.answered.isEmpty() || !ended.isEmpty());
            exchange.flushed();
            await().until(() -> !ended.isEmpty());
            assertThat(backend.bulkhead.inUse()).isZero();
            return ended.getFirst();
        }
    }

    /** Resolves every name to the same addresses, in the same order. */
    private static final class FixedAddresses extends AddressResolverGroup<InetSocketAddress> {

        private final String[] addresses;

        FixedAddresses(String... addresses) {
            this.addresses = addresses;
        }

        @Override
        protected AddressResolver<InetSocketAddress> newResolver(EventExecutor executor) {
            return new AbstractAddressResolver<>(executor, InetSocketAddress.class) {
                @Override
                protected boolean doIsResolved(InetSocketAddress address) {
                    return !address.isUnresolved();
                }

                @Override
                protected void doResolve(InetSocketAddress unresolved, Promise<InetSocketAddress> promise) {
                    promise.setSuccess(resolved(addresses[0], unresolved.getPort()));
                }

                @Override
                protected void doResolveAll(InetSocketAddress unresolved, Promise<List<InetSocketAddress>> promise) {
                    promise.setSuccess(List.of(addresses).stream()
                            .map(address -> resolved(address, unresolved.getPort()))
                            .toList());
                }
            };
        }

        private static InetSocketAddress resolved(String address, int port) {
            try {
                return new InetSocketAddress(InetAddress.getByName(address), port);
            } catch (UnknownHostException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
