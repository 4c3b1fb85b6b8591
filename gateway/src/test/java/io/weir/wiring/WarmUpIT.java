package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.drain.Drain;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestTls;
import io.weir.warmup.WarmUp;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.boot.context.event.ApplicationStartedEvent;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;

/** The warm-up precedes readiness, leaves no trace, and never prevents readiness. */
@ExtendWith(OutputCaptureExtension.class)
@Tag("full")
class WarmUpIT {

    private static final String READINESS = "/actuator/health/readiness";
    private static final String LIVENESS = "/actuator/health/liveness";
    private static final String TRACE = "warm-up";
    private static final Pattern ENDED = Pattern.compile("Warm-up ended [^:]*: \\d+ calls in \\S+ s, (\\d+) failed, ");
    private static final String LOG = "logging.level: { io.weir: INFO, io.weir.warmup: DEBUG }";

    /** Watches a gateway from the start of its servers on, on a thread of its own. */
    private static final class Watch implements ApplicationListener<ApplicationEvent> {

        private final List<ReadinessState> states = new CopyOnWriteArrayList<>();
        private final Task task;
        private volatile @Nullable ConfigurableApplicationContext context;
        private volatile @Nullable CompletableFuture<Void> done;

        @FunctionalInterface
        interface Task {
            void run(ConfigurableApplicationContext context, int port, int managementPort) throws IOException;
        }

        Watch(Task task) {
            this.task = task;
        }

        @Override
        public void onApplicationEvent(ApplicationEvent event) {
            if (event instanceof ApplicationStartedEvent started) {
                ConfigurableApplicationContext own = started.getApplicationContext();
                context = own;
                done = CompletableFuture.runAsync(() -> {
                    try {
                        task.run(own, port(own, "local.server.port"), port(own, "local.management.port"));
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
            } else if (event instanceof AvailabilityChangeEvent<?> change
                    && change.getState() instanceof ReadinessState state) {
                states.add(state);
            }
        }

        private static int port(ConfigurableApplicationContext context, String name) {
            return Integer.parseInt(
                    Objects.requireNonNull(context.getEnvironment().getProperty(name), name));
        }

        void join() {
            Objects.requireNonNull(done, "not started").join();
        }
    }

    @Test
    void precedesReadinessAndLeavesNoTrace(CapturedOutput output) throws Exception {
        List<Integer> before = new CopyOnWriteArrayList<>();
        Watch watch = new Watch((context, port, managementPort) -> {
            before.add(TestCaller.get(managementPort, READINESS).status());
            before.add(TestCaller.get(managementPort, LIVENESS).status());
            // A caller that does not wait for readiness.
            before.add(
                    TestCaller.get(port, Door.COMPILED.path("orders", "early")).status());
            assertNoTrace(context, managementPort);
        });
        try (TestBackend backend = TestBackend.healthy();
                TestGateway gateway = TestGateway.setup()
                        .bean(Watch.class, watch)
                        .weir("warm-up: { max-duration: 8s }")
                        .line(LOG)
                        .backend("orders", backend.uri())
                        .route("orders", "orders")
                        .start()) {
            watch.join();
            assertThat(before).as("readiness, liveness, an early call").containsExactly(503, 200, 200);
            assertThat(TestCaller.get(gateway.managementPort(), READINESS).status())
                    .isEqualTo(200);
            assertThat(output).satisfies(WarmUpIT::answered).doesNotContain("of backend warm-up");
            assertNoTrace(Objects.requireNonNull(watch.context, "context"), gateway.managementPort());
            assertThat(gateway.logged(Door.COMPILED.path("orders", "early"))).isNotNull();
            assertThat(gateway.log()).as("access log").hasSize(1);
            await().atMost(TestGateway.PATIENCE)
                    .untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet())
                            .extracting(Thread::getName)
                            .noneMatch(name -> name.contains(TRACE)));
        }
    }

    /**
     * Each kind of call was answered: one that is not fails dozens of times. A pause of the machine fails at
     * most one call of each of the eight callers. The log names the calls.
     */
    private static void answered(CharSequence output) {
        Matcher end = ENDED.matcher(output);
        assertThat(end.find()).as("%s in: %s", ENDED, output).isTrue();
        assertThat(Integer.parseInt(end.group(1))).as(output.toString()).isLessThan(8);
    }

    private static void assertNoTrace(ConfigurableApplicationContext context, int managementPort) throws IOException {
        for (String path :
                List.of("/actuator/prometheus", "/actuator/weir", "/actuator/circuitbreakers", "/actuator/bulkheads")) {
            assertThat(TestCaller.get(managementPort, path).text()).as(path).doesNotContain(TRACE);
        }
        assertThat(context.getBean(MeterRegistry.class).getMeters())
                .extracting(meter -> meter.getId().toString())
                .noneMatch(id -> id.contains(TRACE));
        assertThat(context.getBean(CircuitBreakerRegistry.class).getAllCircuitBreakers())
                .noneMatch(breaker -> breaker.getName().contains(TRACE));
        assertThat(context.getBean(BulkheadRegistry.class).getAllBulkheads())
                .noneMatch(bulkhead -> bulkhead.getName().contains(TRACE));
        assertThat(ManagementFactory.getPlatformMBeanServer().queryNames(null, null))
                .noneMatch(name -> name.toString().contains(TRACE));
    }

    @Test
    void exercisesTlsAndHttp2OnBothSides(CapturedOutput output) throws Exception {
        try (TestBackend backend = TestBackend.healthy();
                TestGateway gateway = TestGateway.setup()
                        .weir("warm-up: { max-duration: 5s }")
                        .line(LOG)
                        .line(TestTls.serverLines())
                        .backend("orders", backend.uri(), "protocol: h2")
                        .route("orders", "orders")
                        .start()) {
            assertThat(output).satisfies(WarmUpIT::answered).doesNotContain("of backend warm-up");
            assertThat(gateway.log()).isEmpty();
        }
    }

    /** With these settings, Spring changes every request, so that no route is compiled. */
    @ParameterizedTest(name = "{0}")
    @ValueSource(
            strings = {
                "spring.webflux.base-path: /x/y/",
                "spring.cloud.gateway.server.webflux.globalcors.cors-configurations: { \"[/**]\": { allowed-origins: a.test } }"
            })
    void exercisesTheGeneralDoorAlone(String line, CapturedOutput output) throws Exception {
        try (TestGateway gateway = TestGateway.setup()
                .weir("warm-up: { max-duration: 3s }")
                .line(LOG)
                .line(line)
                .start()) {
            assertThat(output).satisfies(WarmUpIT::answered);
            assertThat(gateway.log()).isEmpty();
        }
    }

    @Test
    void isReadyAlthoughItFails(CapturedOutput output) throws Exception {
        BeanPostProcessor failing = new BeanPostProcessor() {
            @Override
            public Object postProcessBeforeInitialization(Object bean, String name) {
                return bean instanceof WarmUpBeforeReadiness
                        ? new WarmUpBeforeReadiness(new WarmUp(null, System::nanoTime), new Drain(), () -> {
                            throw new IllegalStateException("no port is free");
                        })
                        : bean;
            }
        };
        try (TestGateway gateway =
                TestGateway.setup().bean(BeanPostProcessor.class, failing).start()) {
            assertThat(TestCaller.get(gateway.managementPort(), READINESS).status())
                    .isEqualTo(200);
            gateway.assertNeighbourUnharmed();
            assertThat(output.getOut().lines().filter(line -> line.contains("Warm-up failed")))
                    .singleElement()
                    .asString()
                    .contains("no port is free");
        }
    }

    @Test
    void endsAtAStopAndThenNothingIsAnnouncedAsReady() {
        Watch watch = new Watch((context, port, managementPort) -> context.close());
        try (TestGateway _ = TestGateway.setup()
                .bean(Watch.class, watch)
                .weir("warm-up: { max-duration: 5m }")
                .start()) {
            watch.join();
            assertThat(watch.states).containsOnly(ReadinessState.REFUSING_TRAFFIC);
        }
    }

    @Test
    void letsAReloadIn() throws Exception {
        try (TestBackend backend = TestBackend.healthy()) {
            Watch watch = new Watch((context, port, managementPort) -> {
                try (TestCaller operator = TestCaller.to(managementPort)) {
                    assertThat(operator.request("POST", "/actuator/weirreload").status())
                            .isEqualTo(200);
                }
                assertThat(TestCaller.get(port, Door.COMPILED.path("orders", "1"))
                                .status())
                        .isEqualTo(200);
                context.getBean(WarmUp.class).stop();
            });
            try (TestGateway gateway = TestGateway.setup()
                    .bean(Watch.class, watch)
                    .weir("warm-up: { max-duration: 5m }")
                    .backend("orders", backend.uri())
                    .route("orders", "orders")
                    .start()) {
                watch.join();
                assertThat(watch.states).containsExactly(ReadinessState.ACCEPTING_TRAFFIC);
                gateway.assertNothingHeld();
            }
        }
    }
}
