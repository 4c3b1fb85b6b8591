package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.engine.Backend;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** The properties of load balancing over sockets, and their reload. */
class LoadBalancingIT {

    private static final String BY_COOKIE = "{ policy: hash, hash-key: \"cookie:SID\" }";
    private static final int COOKIES = 40;

    private final List<TestBackend> servers = Stream.generate(() -> TestBackend.start(
                    (request, conversation) -> conversation.answer(200, String.valueOf(request.header("Host")))))
            .limit(3)
            .toList();

    private TestGateway gateway;

    @BeforeEach
    void start() {
        gateway = TestGateway.start(yaml(servers, BY_COOKIE));
    }

    @AfterEach
    void close() {
        gateway.assertNothingHeld();
        gateway.close();
        servers.forEach(TestBackend::close);
    }

    private static String yaml(List<TestBackend> instances, String balancing) {
        return """
            weir:
              backends:
                orders: { instances: [%s], bulkhead: { max-concurrent-calls: 64 }, load-balancing: %s }
            spring.cloud.gateway.server.webflux.routes:
              - { id: compiled, uri: "backend://orders", predicates: ["Path=/compiled/**"] }
              - { id: general, uri: "backend://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
            """.formatted(
                        instances.stream()
                                .map(server -> "{ uri: \"" + server.uri() + "\" }")
                                .collect(Collectors.joining(", ")),
                        balancing);
    }

    private void reload(List<TestBackend> instances, String balancing) {
        gateway.rewrite(yaml(instances, balancing));
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
    }

    private Backend backend() {
        return gateway.backend("orders");
    }

    private static String host(TestBackend server) {
        return "127.0.0.1:" + server.port();
    }

    /** The instances that serve a number of cookies. */
    private List<String> hosts(Door door) throws IOException {
        List<String> hosts = new ArrayList<>();
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            for (int i = 0; i < COOKIES; i++) {
                hosts.add(caller.request("GET", "/" + door.word() + "/1", "Cookie: a=b; SID=" + i)
                        .text());
            }
        }
        return hosts;
    }

    @Door.Any
    void sendsACookieToItsInstanceAlsoAfterAReload(Door door) throws IOException {
        List<String> before = hosts(door);
        assertThat(before)
                .containsAll(servers.stream().map(LoadBalancingIT::host).toList());
        assertThat(hosts(door)).isEqualTo(before);

        reload(servers.subList(0, 2), BY_COOKIE);
        List<String> after = hosts(door);
        for (int i = 0; i < COOKIES; i++) {
            if (before.get(i).equals(host(servers.get(2)))) {
                assertThat(after.get(i)).as("cookie %d", i).isNotEqualTo(before.get(i));
            } else {
                assertThat(after.get(i)).as("cookie %d", i).isEqualTo(before.get(i));
            }
        }

        reload(servers, "{ policy: hash, hash-key: \"cookie:SID\", slow-start: 0s }");
        assertThat(hosts(door)).isEqualTo(before);
    }

    /** Each caller stays with the instance of its first answer, and gets no second cookie. */
    @Door.Any
    void setsACookieThatKeepsACallerWithItsInstance(Door door) throws IOException {
        reload(servers, "{ session-cookie: { name: WEIR-S, max-age: 1h } }");
        String path = "/" + door.word() + "/1";
        Set<String> used = new HashSet<>();
        for (int i = 0; i < COOKIES; i++) {
            TestCaller.Answer first = TestCaller.get(gateway.port(), path, "Cookie: other=1");
            String cookie = String.valueOf(first.header("set-cookie"));
            assertThat(cookie).matches("WEIR-S=[0-9a-f]{16}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax");

            TestCaller.Answer second =
                    TestCaller.get(gateway.port(), path, "Cookie: other=1; " + cookie.split(";", 2)[0]);

            assertThat(second.text()).isEqualTo(first.text());
            assertThat(second.header("set-cookie")).isNull();
            used.add(first.text());
        }
        assertThat(used).hasSize(3);
    }

    /** The session is where the caller was answered last, also when its first instance is back. */
    @Door.Any
    void setsANewCookieWhereAnotherInstanceAnswers(Door door) throws IOException {
        String balancing = "{ session-cookie: { name: WEIR-S }, slow-start: 0s }";
        reload(servers, balancing);
        String path = "/" + door.word() + "/1";
        TestCaller.Answer first = TestCaller.get(gateway.port(), path);
        String before = String.valueOf(first.header("set-cookie"));
        assertThat(before).matches("WEIR-S=[0-9a-f]{16}; Path=/; HttpOnly; SameSite=Lax");

        reload(
                servers.stream()
                        .filter(server -> !host(server).equals(first.text()))
                        .toList(),
                balancing);
        TestCaller.Answer moved = TestCaller.get(gateway.port(), path, "Cookie: " + before.split(";", 2)[0]);
        String after = String.valueOf(moved.header("set-cookie"));

        reload(servers, balancing);
        TestCaller.Answer stays = TestCaller.get(gateway.port(), path, "Cookie: " + after.split(";", 2)[0]);
        assertThat(after).isNotEqualTo(before);
        assertThat(stays.header("set-cookie")).isNull();
        assertThat(stays.text()).isEqualTo(moved.text());
    }

    @Door.Any
    void startsAnInstanceSlowlyThatAReloadAdds(Door door) throws IOException {
        reload(servers.subList(0, 2), BY_COOKIE);
        reload(servers, "{ policy: hash, hash-key: \"cookie:SID\", slow-start: 1h }");
        assertThat(hosts(door).stream().filter(host(servers.get(2))::equals).count())
                .as("cookies of the new instance")
                .isLessThan(COOKIES / 5);
    }

    @Door.Any
    void takesTurns(Door door) throws IOException {
        reload(servers, "{ policy: round-robin }");
        List<String> hosts = hosts(door);
        assertThat(hosts.subList(0, 3)).doesNotHaveDuplicates();
        for (int i = 3; i < COOKIES; i++) {
            assertThat(hosts.get(i)).isEqualTo(hosts.get(i - 3));
        }
    }

    @Door.Any
    void boundsTheLimitByTheCapOfTheInstances(Door door) throws IOException {
        reload(servers, "{ max-concurrent-calls-per-instance: 4 }");
        assertThat(backend().bulkhead().maxConcurrentCalls()).isEqualTo(12);
        assertThat(hosts(door)).hasSize(COOKIES);
        reload(servers.subList(0, 1), "{ max-concurrent-calls-per-instance: 4 }");
        assertThat(backend().bulkhead().maxConcurrentCalls()).isEqualTo(4);
        reload(servers.subList(0, 1), "{ max-concurrent-calls-per-instance: 5 }");
        assertThat(backend().bulkhead().maxConcurrentCalls()).isEqualTo(5);
        reload(servers.subList(0, 1), "{}");
        assertThat(backend().bulkhead().maxConcurrentCalls()).isEqualTo(64);
    }
}
