package io.weir.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.testcontainers.containers.BindMode;
import org.testcontainers.containers.GenericContainer;

/** Two gateways behind HAProxy are replaced one after the other under load, and no request fails. */
@EnabledIfSystemProperty(named = "containers", matches = "true", disabledReason = ContainerStand.SKIP_REASON)
@Timeout(1800)
class RollingReplacementIT {

    private static final int STATISTICS = 8404;
    private static final int CALLERS = 4;
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    // HAProxy removes a draining gateway after two checks, well within drain.delay. It does not remove a
    // gateway that answers a check slowly on a busy machine.
    private static final String HAPROXY = """
            global
              maxconn 200
            defaults
              mode http
              timeout connect 5s
              timeout check 10s
              timeout client 60s
              timeout server 60s
            resolvers docker
              parse-resolv-conf
              hold valid 1s
            frontend callers
              bind :8080
              default_backend gateways
            frontend statistics
              bind :8404
              stats enable
              stats uri /
            backend gateways
              balance roundrobin
              option redispatch
              option httpchk GET /actuator/health/readiness
              default-server check port 8081 inter 500ms fall 2 rise 2 resolvers docker init-addr last,libc,none
              server one one:8080
              server two two:8080
            """;

    private static final String CONFIGURATION = """
            server.port: 8080
            management.server: { port: 8081, address: 0.0.0.0 }
            spring.cloud.gateway.server.webflux.routes:
              - { id: reactive, uri: "backend://reactive", predicates: [ "Path=/**" ] }
            weir:
              backends:
                reactive: { uri: "http://webflux-r2dbc:8080", deadline: 20s, connection: { connect-timeout: 10s } }
              drain: { delay: 8s, timeout: 20s }
              # Other processes on a busy machine must not count as the gateway's overload.
              overload: { target-event-loop-delay: 1m, max-event-loop-delay: 1m }
              management.token: 0123456789abcdef0123
            """;

    @TempDir
    Path directory;

    @Test
    void losesNoRequest() throws Exception {
        try (ContainerStand stand = new ContainerStand()) {
            stand.database();
            Path configuration = Files.writeString(directory.resolve("weir.yml"), CONFIGURATION);
            GenericContainer<?> one = ContainerStand.gateway("one", configuration);
            GenericContainer<?> two = ContainerStand.gateway("two", configuration);
            GenericContainer<?> balancer = balancer();
            stand.start(ContainerStand.simulator("webflux-r2dbc"), one, two);
            stand.start(balancer);
            await().atMost(PATIENCE).until(() -> up(balancer, "one") && up(balancer, "two"));

            Queue<String> failed = new ConcurrentLinkedQueue<>();
            AtomicInteger served = new AtomicInteger();
            AtomicBoolean isOver = new AtomicBoolean();
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < CALLERS; i++) {
                callers.add(Thread.startVirtualThread(() -> {
                    while (!isOver.get()) {
                        String failure = call(balancer);
                        if (failure.isEmpty()) {
                            served.incrementAndGet();
                        } else {
                            failed.add(failure);
                        }
                    }
                }));
            }
            await().atMost(PATIENCE).until(() -> served.get() > 100);

            GenericContainer<?> newOne = replace(stand, one, "one", configuration, balancer);
            GenericContainer<?> newTwo = replace(stand, two, "two", configuration, balancer);
            int before = served.get();
            await().atMost(PATIENCE).until(() -> served.get() > before + 100);
            isOver.set(true);
            for (Thread caller : callers) {
                caller.join();
            }

            assertThat(failed)
                    .as("failed of %s calls", served.get() + failed.size())
                    .isEmpty();
            for (GenericContainer<?> gateway : List.of(one, two, newOne, newTwo)) {
                assertThat(gateway.getLogs()).as("access log").contains("\"path\":\"/delay\"");
            }
        }
    }

    private static GenericContainer<?> replace(
            ContainerStand stand,
            GenericContainer<?> old,
            String name,
            Path configuration,
            GenericContainer<?> balancer)
            throws IOException {
        assertThat(ContainerStand.terminate(old)).isZero();
        await().atMost(PATIENCE).until(() -> !up(balancer, name));
        GenericContainer<?> replacement = ContainerStand.gateway(name, configuration);
        stand.start(replacement);
        await().atMost(PATIENCE).until(() -> up(balancer, name));
        return replacement;
    }

    private GenericContainer<?> balancer() throws IOException {
        Path file = Files.writeString(directory.resolve("haproxy.cfg"), HAPROXY);
        ContainerStand.readable(file);
        return new GenericContainer<>(System.getProperty("image.haproxy"))
                .withFileSystemBind(file.toString(), "/usr/local/etc/haproxy/haproxy.cfg", BindMode.READ_ONLY)
                .withExposedPorts(ContainerStand.SERVICE, STATISTICS);
    }

    /** Whether the balancer considers a server healthy. */
    private static boolean up(GenericContainer<?> balancer, String server) throws IOException, InterruptedException {
        return ContainerStand.get(balancer, STATISTICS, "/;csv")
                .body()
                .lines()
                .filter(line -> line.startsWith("gateways," + server + ","))
                .anyMatch(line -> line.contains(",UP,"));
    }

    /** Calls once; returns the failure, or an empty text. */
    private static String call(GenericContainer<?> balancer) {
        try {
            HttpResponse<String> answer = ContainerStand.get(balancer, ContainerStand.SERVICE, "/delay?ms=50");
            return answer.statusCode() == 200 ? "" : answer.statusCode() + " " + answer.body();
        } catch (IOException e) {
            return e.toString();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
