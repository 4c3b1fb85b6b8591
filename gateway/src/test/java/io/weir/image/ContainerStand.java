package io.weir.image;

import static org.awaitility.Awaitility.await;

import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.model.Capability;
import com.github.dockerjava.api.model.HealthCheck;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.BindMode;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.containers.wait.strategy.AbstractWaitStrategy;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.lifecycle.Startables;

/** Containers of the images on a private network, with the restrictions that they must run under. */
final class ContainerStand implements AutoCloseable {

    /**
     * The reason for which image tests are skipped. With {@code -Pcontainers} they run, and a missing image
     * fails them.
     */
    static final String SKIP_REASON = "requires Docker and the images: ops/images/build && mvn verify -Pcontainers";

    static final int SERVICE = 8080;
    static final int GATEWAY_MANAGEMENT = 8081;
    static final int SIMULATOR_MANAGEMENT = 9080;

    static final long MEMORY_BYTES = 768L << 20;

    /** The time within which a container must become healthy, on a busy machine. */
    private static final Duration PATIENCE = Duration.ofMinutes(10);

    private static final Duration HEALTH_INTERVAL = Duration.ofSeconds(2);

    static final String WARM_UP = "WEIR_WARM_UP_MAX_DURATION";

    private static final String PASSWORD = "not-a-secret";
    private static final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private final Network network = Network.newNetwork();
    private final List<GenericContainer<?>> containers = new ArrayList<>();

    /** PostgreSQL, ready for the simulators. */
    void database() {
        start(new GenericContainer<>(System.getProperty("image.postgres"))
                .withNetworkAliases("postgres")
                .withEnv(Map.of("POSTGRES_USER", "weir", "POSTGRES_PASSWORD", PASSWORD, "POSTGRES_DB", "weir"))
                .waitingFor(Wait.forLogMessage(".*database system is ready to accept connections.*", 2)));
    }

    /**
     * A simulator of a stack with this database. Its network name is the stack's; faults can be set remotely.
     */
    static GenericContainer<?> simulator(String stack) {
        return simulator(stack, stack);
    }

    /** A simulator of a stack with this database, with a network name. */
    static GenericContainer<?> simulator(String stack, String name) {
        return restricted(new GenericContainer<>("weir-simulator:" + stack))
                .withNetworkAliases(name)
                .withEnv("SIM_DATABASE_PASSWORD", PASSWORD)
                .withCommand(
                        "--sim.database.url=postgresql://postgres/weir",
                        "--sim.database.username=weir",
                        "--sim.database.pool-minimum=2",
                        "--sim.faults.remote=true",
                        "--management.server.address=0.0.0.0")
                .withExposedPorts(SERVICE, SIMULATOR_MANAGEMENT)
                .waitingFor(new Healthy());
    }

    /** A gateway with a configuration, with a network name. It does not warm up. */
    static GenericContainer<?> gateway(String name, Path configuration) throws IOException {
        readable(configuration);
        return restricted(new GenericContainer<>("weir-gateway:latest"))
                .withNetworkAliases(name)
                .withEnv(WARM_UP, "0s")
                .withFileSystemBind(configuration.toString(), "/etc/weir/weir.yml", BindMode.READ_ONLY)
                .withExposedPorts(SERVICE, GATEWAY_MANAGEMENT)
                .waitingFor(new Healthy());
    }

    /** Makes a file readable for the container's user, which is not the user that wrote it. */
    static void readable(Path file) throws IOException {
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    }

    /** Starts containers on the network in parallel, and waits until all are healthy. */
    void start(GenericContainer<?>... starting) {
        for (GenericContainer<?> container : starting) {
            containers.add(container.withNetwork(network).withStartupTimeout(PATIENCE));
        }
        Startables.deepStart(starting).join();
    }

    /**
     * Waits until the image's health check succeeds. Testcontainers' own strategy asks Docker without a
     * pause, which takes the processors from the containers that start.
     */
    private static final class Healthy extends AbstractWaitStrategy {

        @Override
        protected void waitUntilReady() {
            await().atMost(startupTimeout)
                    .pollInterval(Duration.ofMillis(200))
                    .failFast("the container has ended", () -> !waitStrategyTarget.isRunning())
                    .until(waitStrategyTarget::isHealthy);
        }
    }

    private static GenericContainer<?> restricted(GenericContainer<?> container) {
        return container.withTmpFs(Map.of("/tmp", "")).withCreateContainerCmdModifier(command -> {
            // The image's own check, more often than the image asks for it.
            command.withHealthcheck(new HealthCheck().withInterval(HEALTH_INTERVAL.toNanos()));
            var host = command.getHostConfig();
            if (host == null) {
                throw new IllegalStateException("container without a host configuration");
            }
            host.withReadonlyRootfs(true)
                    .withMemory(MEMORY_BYTES)
                    .withCapDrop(Capability.ALL)
                    .withSecurityOpts(List.of("no-new-privileges"));
        });
    }

    /** Sends SIGTERM like {@code docker stop}, with time for the drain; returns the exit code. */
    static long terminate(GenericContainer<?> container) {
        DockerClientFactory.lazyClient()
                .stopContainerCmd(container.getContainerId())
                .withTimeout(60)
                .exec();
        return state(container).getExitCodeLong();
    }

    static InspectContainerResponse.ContainerState state(GenericContainer<?> container) {
        return inspect(container).getState();
    }

    static InspectContainerResponse inspect(GenericContainer<?> container) {
        return DockerClientFactory.lazyClient()
                .inspectContainerCmd(container.getContainerId())
                .exec();
    }

    static HttpResponse<String> get(GenericContainer<?> container, int port, String path, String... fields)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = request(container, port, path);
        if (fields.length > 0) {
            request.headers(fields);
        }
        return http.send(request.build(), BodyHandlers.ofString());
    }

    static CompletableFuture<HttpResponse<String>> getAsync(GenericContainer<?> container, int port, String path) {
        return http.sendAsync(request(container, port, path).build(), BodyHandlers.ofString());
    }

    private static HttpRequest.Builder request(GenericContainer<?> container, int port, String path) {
        return HttpRequest.newBuilder(
                        URI.create("http://" + container.getHost() + ":" + container.getMappedPort(port) + path))
                .timeout(Duration.ofSeconds(30));
    }

    /** Sets a simulator's faults; an empty document removes them. */
    static void faults(GenericContainer<?> simulator, String document) throws IOException, InterruptedException {
        HttpRequest.Builder request = request(simulator, SIMULATOR_MANAGEMENT, "/faults");
        request = document.isEmpty() ? request.DELETE() : request.PUT(BodyPublishers.ofString(document));
        HttpResponse<String> answer = http.send(request.build(), BodyHandlers.ofString());
        if (answer.statusCode() / 100 != 2) {
            throw new AssertionError(answer.body());
        }
    }

    @Override
    public void close() {
        containers.reversed().forEach(GenericContainer::stop);
        network.close();
    }
}
