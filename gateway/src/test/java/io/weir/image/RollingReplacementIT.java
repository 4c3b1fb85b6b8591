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

/** Two gateways behind HAProxy are replaced one after the other while callers call: none of them notices. */
@EnabledIfSystemProperty(named = "containers", matches = "true", disabledReason = Stand.WANTED)
@Timeout(1800)
class RollingReplacementIT {

    private static final int STATISTICS = 8404;
    private static final int CALLERS = 4;
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    // A gateway that drains has left after two checks, well within drain.delay. One that is slow to answer a check, as
    // on
    // a busy machine, has not.
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
              # A machine that is busy with other things is no overload of the gateway's.
              overload.max-event-loop-delay: 1m
              management.token: 0123456789abcdef0123
            """;

    @TempDir
    Path directory;

    @Test
    void losesNoRequest() throws Exception {
        try (Stand stand = new Stand()) {
            stand.database();
            Path configuration = Files.writeString(directory.resolve("weir.yml"), CONFIGURATION);
            GenericContainer<?> one = Stand.gateway("one", configuration);
            GenericContainer<?> two = Stand.gateway("two", configuration);
            GenericContainer<?> balancer = balancer();
            stand.start(Stand.simulator("webflux-r2dbc"), one, two);
            stand.start(balancer);
            await().atMost(PATIENCE).until(() -> up(balancer, "one") && up(balancer, "two"));

            Queue<String> failed = new ConcurrentLinkedQueue<>();
            AtomicInteger served = new AtomicInteger();
            AtomicBoolean enough = new AtomicBoolean();
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < CALLERS; i++) {
                callers.add(Thread.startVirtualThread(() -> {
                    while (!enough.get()) {
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
            enough.set(true);
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
            Stand stand, GenericContainer<?> old, String name, Path configuration, GenericContainer<?> balancer)
            throws IOException {
        assertThat(Stand.terminate(old)).isEqualTo(143);
        await().atMost(PATIENCE).until(() -> !up(balancer, name));
        GenericContainer<?> replacement = Stand.gateway(name, configuration);
        stand.start(replacement);
        await().atMost(PATIENCE).until(() -> up(balancer, name));
        return replacement;
    }

    private GenericContainer<?> balancer() throws IOException {
        Path file = Files.writeString(directory.resolve("haproxy.cfg"), HAPROXY);
        Stand.readable(file);
        return new GenericContainer<>(System.getProperty("image.haproxy"))
                .withFileSystemBind(file.toString(), "/usr/local/etc/haproxy/haproxy.cfg", BindMode.READ_ONLY)
                .withExposedPorts(Stand.SERVICE, STATISTICS);
    }

    /** Whether the balancer sends callers there. */
    private static boolean up(GenericContainer<?> balancer, String server) throws IOException, InterruptedException {
        return Stand.get(balancer, STATISTICS, "/;csv")
                .body()
                .lines()
                .filter(line -> line.startsWith("gateways," + server + ","))
                .anyMatch(line -> line.contains(",UP,"));
    }

    /** What went wrong; empty: nothing. */
    private static String call(GenericContainer<?> balancer) {
        try {
            HttpResponse<String> answer = Stand.get(balancer, Stand.SERVICE, "/delay?ms=50");
            return answer.statusCode() == 200 ? "" : answer.statusCode() + " " + answer.body();
        } catch (IOException e) {
            return e.toString();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
