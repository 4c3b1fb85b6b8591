package io.weir.capacity;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.capacity.CapacitySignal.Ignored;
import io.weir.instance.Instance;
import io.weir.limit.LimitInForce.Binding;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.NameServer;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.core.ThrowingRunnable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Agents beside the instances, over sockets. */
class AgentIT {

    private static final String HEADER = "weir-capacity";

    /** Two instances, and the agents beside them on another port. */
    private final TestBackend first = TestBackend.at("127.0.0.1", 0, TestBackend.ECHO);

    private final TestBackend second = TestBackend.at("127.0.0.2", first.port(), TestBackend.ECHO);
    private final Agent agent;
    private final Agent other;
    private final NameServer dns = new NameServer("127.0.0.1");
    private @Nullable TestGateway started;

    /** What an agent does with a connection before it closes it. */
    private interface Behaviour {
        void serve(Socket caller) throws IOException;
    }

    /** A TCP server that talks to one caller at a time. */
    private static final class Agent implements AutoCloseable {

        final AtomicInteger connections = new AtomicInteger();
        private final ServerSocket server;
        private volatile Behaviour behaviour = line("up\n");

        Agent(String address, int port) throws IOException {
            server = new ServerSocket(port, 50, InetAddress.getByName(address));
            Thread.ofVirtual().start(this::serve);
        }

        int port() {
            return server.getLocalPort();
        }

        void says(String text) {
            behaviour = line(text);
        }

        void behaves(Behaviour next) {
            behaviour = next;
        }

        private static Behaviour line(String text) {
            return caller -> caller.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
        }

        private void serve() {
            while (!server.isClosed()) {
                try (Socket caller = server.accept()) {
                    connections.incrementAndGet();
                    behaviour.serve(caller);
                } catch (IOException e) {
                    // The caller or the test has gone.
                }
            }
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    AgentIT() throws IOException {
        agent = new Agent("127.0.0.1", 0);
        other = new Agent("127.0.0.2", agent.port());
    }

    private String signal() {
        return "capacity-signal: { agent: { port: " + agent.port() + ", interval: 100ms } }";
    }

    private TestGateway start(String... properties) {
        TestGateway gateway = TestGateway.setup()
                .instances("orders", List.of(first.uri(), "http://127.0.0.2:" + second.port()), properties)
                .route("orders", "orders")
                .start();
        started = gateway;
        return gateway;
    }

    @AfterEach
    void close() throws IOException {
        if (started != null) {
            started.close();
        }
        agent.close();
        other.close();
        first.close();
        second.close();
        dns.close();
    }

    private Instance instance(int index) {
        return Objects.requireNonNull(started)
                .backend("orders")
                .instances()
                .all()
                .get(index);
    }

    private static void eventually(ThrowingRunnable assertion) {
        await().atMost(PATIENCE).untilAsserted(assertion);
    }

    private long ignored(Ignored reason) {
        return instance(0).capacity().signal().ignored(reason);
    }

    /** The counter of the times without a line; null: there is none. */
    private @Nullable FunctionCounter silent() {
        return Objects.requireNonNull(started)
                .bean(MeterRegistry.class)
                .find("weir.capacity.ignored")
                .tags("reason", "agent-silent")
                .functionCounter();
    }

    private void assertAllCallsGoTo(TestBackend server) throws IOException {
        TestGateway gateway = Objects.requireNonNull(started);
        int before = server.requests();
        for (Door door : Door.values()) {
            for (int i = 0; i < 10; i++) {
                assertThat(TestCaller.get(gateway.port(), door.path("orders", "item"))
                                .status())
                        .isEqualTo(200);
            }
        }
        assertThat(server.requests()).isEqualTo(before + 10 * Door.values().length);
    }

    @ParameterizedTest
    @ValueSource(strings = {"drain\n", "down#full\r\n", "0%"})
    void anInstanceWhoseAgentSaysSoGetsNoCalls(String word) throws IOException {
        TestGateway gateway = start("bulkhead: {}", signal());
        agent.says(word);
        eventually(() -> assertThat(instance(0).health().isIn()).isFalse());

        assertAllCallsGoTo(second);

        assertThat(TestCaller.get(gateway.managementPort(), "/actuator/weir/orders")
                        .problem()
                        .at("/instances/0/check/agent")
                        .asString())
                .isEqualTo(word.replaceAll("[#\r\n].*", "").strip());
        agent.says("ready up 100%\n");
        eventually(() -> assertThat(instance(0).health().isIn()).isTrue());
        assertThat(agent.connections.get()).isGreaterThan(1);
    }

    @Test
    void theNumberOfConnectionsIsTheLimit() throws IOException {
        TestGateway gateway = start("bulkhead: {}", signal());
        // In two packets.
        agent.behaves(caller -> {
            OutputStream out = caller.getOutputStream();
            out.write("maxco".getBytes(StandardCharsets.ISO_8859_1));
            out.flush();
            out.write("nn:30\nmaxconn:99\n".getBytes(StandardCharsets.ISO_8859_1));
        });
        other.says("maxconn:12 up");

        eventually(() -> assertThat(gateway.backend("orders").limit().inForce()).isEqualTo(42));
        assertThat(gateway.backend("orders").limit().binding()).isEqualTo(Binding.SIGNAL);
    }

    /** Each of them is asked again, and none holds a connection for longer than an interval. */
    @Test
    void anAgentThatMisbehavesChangesNothing() {
        start("bulkhead: {}", signal());
        List<Behaviour> misbehaviours = List.of(
                caller -> {
                    // It closes the connection at once.
                },
                caller -> {
                    while (true) {
                        caller.getOutputStream().write("maxconn:30 drain ".getBytes(StandardCharsets.ISO_8859_1));
                    }
                },
                caller -> {
                    caller.getOutputStream().write("drain".getBytes(StandardCharsets.ISO_8859_1));
                    assertThat(caller.getInputStream().read())
                            .as("the gateway closes it")
                            .isNegative();
                },
                caller -> assertThat(caller.getInputStream().read())
                        .as("the gateway sends nothing")
                        .isNegative(),
                caller -> {
                    caller.getOutputStream().write("drain".getBytes(StandardCharsets.ISO_8859_1));
                    caller.setSoLinger(true, 0);
                });
        for (Behaviour next : misbehaviours) {
            agent.behaves(next);
            int connections = agent.connections.get();
            long silent = ignored(Ignored.AGENT_SILENT);
            eventually(() -> {
                assertThat(agent.connections.get()).isGreaterThan(connections + 2);
                assertThat(ignored(Ignored.AGENT_SILENT)).isGreaterThan(silent);
            });
            assertThat(instance(0).health().isIn()).isTrue();
            assertThat(instance(0).capacity().hasStated()).isFalse();
        }
        agent.says("maxconn:31 nonsense\n");
        eventually(() ->
                assertThat(instance(0).capacity().calls(System.nanoTime())).isEqualTo(31));
        assertThat(ignored(Ignored.AGENT_WORD)).isPositive();
    }

    @Test
    void anAgentThatIsGoneLeavesItsInstanceOut() throws IOException {
        start("bulkhead: {}", signal());
        agent.says("drain");
        eventually(() -> assertThat(instance(0).health().isIn()).isFalse());
        agent.close();
        long silent = ignored(Ignored.AGENT_SILENT);
        eventually(() -> assertThat(ignored(Ignored.AGENT_SILENT)).isGreaterThan(silent + 3));
        assertThat(Objects.requireNonNull(silent()).count()).isGreaterThan(3);

        assertAllCallsGoTo(second);
    }

    @Test
    void agentsComeAndGoWithReloads() throws IOException {
        TestGateway gateway = start("bulkhead: {}", "capacity-signal: { header: " + HEADER + " }");
        agent.says("drain");
        String without = Files.readString(gateway.file());
        assertThat(agent.connections).hasValue(0);
        assertThat(silent()).isNull();

        reload(without.replace("capacity-signal: { header: " + HEADER + " }", signal()));
        eventually(() -> assertThat(instance(0).health().isIn()).isFalse());
        assertThat(silent()).isNotNull();

        reload(without);
        eventually(() -> {
            TestCaller.get(gateway.port(), Door.COMPILED.path("orders", "item"));
            assertThat(instance(0).health().isIn()).isTrue();
        });
        assertThat(instance(0).capacity().agent().outWord()).isNull();
    }

    @Test
    void asksTheAgentsOfTheAddressesThatDnsNames() throws IOException {
        TestGateway gateway = TestGateway.setup()
                .weir("dns-server: \"" + dns.address() + '"')
                .backend(
                        "orders",
                        "http://" + NameServer.NAME + ':' + first.port(),
                        "bulkhead: {}",
                        "resolve-interval: 100ms",
                        signal())
                .route("orders", "orders")
                .start();
        started = gateway;
        eventually(() -> assertThat(agent.connections).hasPositiveValue());
        assertThat(other.connections).hasValue(0);

        dns.resolveTo("127.0.0.1", "127.0.0.2");
        other.says("drain\n");
        eventually(() -> {
            assertThat(gateway.backend("orders").instances().all()).hasSize(2);
            assertThat(instance(1).health().isIn()).isFalse();
        });
        assertAllCallsGoTo(first);

        dns.resolveTo("127.0.0.1");
        eventually(() -> assertThat(gateway.backend("orders").instances().all()).hasSize(1));
        int connections = other.connections.get();
        int before = agent.connections.get();
        eventually(() -> assertThat(agent.connections.get()).isGreaterThan(before + 3));
        assertThat(other.connections).hasValueLessThanOrEqualTo(connections + 1);
    }

    private void reload(String yaml) {
        TestGateway gateway = Objects.requireNonNull(started);
        gateway.rewrite(yaml);
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
    }
}
