package io.weir.dashboard;

import static io.weir.dashboard.TestBrowser.assertNoBrowserErrors;
import static io.weir.dashboard.TestBrowser.awaitLive;
import static io.weir.dashboard.TestBrowser.awaitText;
import static io.weir.dashboard.TestBrowser.browser;
import static io.weir.dashboard.TestBrowser.click;
import static io.weir.dashboard.TestBrowser.evaluate;
import static io.weir.dashboard.TestBrowser.open;
import static io.weir.dashboard.TestBrowser.takePicture;
import static io.weir.dashboard.TestBrowser.useDesktop;
import static io.weir.dashboard.TestBrowser.usePhone;
import static io.weir.dashboard.TestBrowser.useScheme;
import static io.weir.dashboard.TestDashboard.card;
import static io.weir.dashboard.TestDashboard.drawn;
import static io.weir.dashboard.TestDashboard.limitOf;
import static io.weir.dashboard.TestDashboard.part;
import static io.weir.dashboard.TestDashboard.reload;
import static io.weir.dashboard.TestDashboard.setup;
import static io.weir.dashboard.TestDashboard.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.limit.LimitInForce;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;

/**
 * The dashboard in a real browser, Debian's Chromium with its driver; each test has a gateway of its own.
 * Skipped if they are not installed, unless {@code -Dbrowser=required}.
 */
@Tag("full")
class DashboardGatewaysIT {

    private static final String TOKEN = "0123456789abcdef0123";

    @TempDir
    static Path profile;

    private static TestBackend backend;

    @SuppressWarnings("NullAway.Init") // By each test.
    private TestGateway gateway;

    @BeforeAll
    static void start() {
        TestBrowser.start(profile);
        backend = TestBackend.healthy();
    }

    @AfterAll
    static void stop() {
        TestBrowser.stop();
        if (backend != null) {
            backend.close();
        }
    }

    @AfterEach
    void closeTheGateway() {
        if (gateway != null) {
            gateway.close();
        }
    }

    /**
     * Backend orders gets twice as many requests as backend sick, which fails and has its breaker in dry-run
     * mode.
     */
    @Test
    void drawsEveryFigureOfABackend() {
        try (TestBackend sick = TestBackend.start((request, conversation) ->
                conversation.write("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"))) {
            gateway = setup(backend)
                    .backend("sick", sick.uri(), "circuit-breaker: { enforce: false }")
                    .route("sick", "sick")
                    .start();
            open(gateway.managementPort());
            awaitLive();
            awaitCards("neighbour", "orders", "sick");

            await().untilAsserted(() -> {
                get("orders");
                get("sick");
                get("orders");
                assertThat(radius("orders")).isGreaterThan(radius("sick"));
                assertThat(radius("sick")).isGreaterThan(radius("neighbour"));
                assertThat(List.of(colour("neighbour"), colour("orders"), colour("sick")))
                        .doesNotHaveDuplicates();
                assertThat(text("orders")).contains(backend.uri()).contains("0 % trouble");
                assertThat(text("orders"))
                        .containsPattern("2xx [0-9]+")
                        .containsPattern("\\b50 %\\s+[0-9.]+ m?s")
                        .containsPattern("\\b90 %\\s+[0-9.]+ m?s")
                        .containsPattern("\\b99 %\\s+[0-9.]+ m?s")
                        .containsPattern("\\b99.5 %\\s+[0-9.]+ m?s")
                        .containsPattern("Permits\\s+[0-9] of 7")
                        .containsPattern("Queue\\s+0 of [0-9]+")
                        .containsPattern("Pool\\s+[0-9] in use, [0-9] idle")
                        .containsPattern("Queue wait\\s+[0-9]")
                        .containsPattern("Budget left\\s+[0-9]")
                        .containsPattern("L measured\\s+[0-9]")
                        .containsPattern("Base latency\\s+[0-9–]")
                        .containsPattern("Waiting\\s+[0-9]");
                assertThat(drawn("orders", ".spark .ended").split("L", -1)).hasSizeGreaterThan(120);
                assertThat(drawn("orders", ".spark .bad")).isEmpty();
                assertThat(drawn("sick", ".spark .bad")).isNotEmpty();
                assertThat(text("sick")).containsPattern("5xx [0-9]+").contains("100 % trouble");
                assertThat(text("sick")).contains("Dry run: breaker. Would have refused: ");
            });
            for (String figure : List.of("in-flight", "rate", "loop-delay", "memory", "replicas", "phase")) {
                assertThat(browser().findElement(By.id(figure)).getText())
                        .as(figure)
                        .containsPattern("[0-9]|serving");
            }
            // The page loads nothing from other origins.
            assertThat(evaluate(
                            "return performance.getEntriesByType('resource').every(e => e.name.startsWith(location.origin))",
                            Boolean.class))
                    .isTrue();
            assertNoBrowserErrors();
        }
    }

    private static void awaitCards(String... names) {
        await().untilAsserted(() -> assertThat(evaluate(
                        "return [...document.querySelectorAll('.card')].map(card => card.dataset.backend).join()",
                        String.class))
                .isEqualTo(String.join(",", names)));
    }

    private void get(String name) throws IOException {
        TestCaller.get(gateway.port(), Door.COMPILED.path(name, "drawn"));
    }

    private static double radius(String name) {
        return Double.parseDouble(
                evaluate("return " + part(name, ".circle circle") + ".getAttribute('r')", String.class));
    }

    private static String colour(String name) {
        return evaluate("return getComputedStyle(" + part(name, ".circle circle") + ").fill", String.class);
    }

    /** Every call finds the limit full, so it grows; then a recovering backend holds it down. */
    @Test
    void showsWhyAnAdaptiveLimitIsWhatItIs() {
        gateway = setup(backend)
                .backend("learns", backend.uri(), "deadline: 2s", "bulkhead: { limit: { min: 2, initial: 2, max: 4 } }")
                .route("learns", "learns")
                .start();
        open(gateway.managementPort());
        awaitLive();
        awaitText(card("learns"), "Unchanged since the start: the calls have not filled it.");
        assertThat(limitOf("learns")).isEqualTo("Limit 2 (auto)");
        assertThat(text("learns")).containsPattern("Answers/s\\s+–").containsPattern("At limit\\s+0 %");

        LimitInForce limit = gateway.backend("learns").limit();
        await().until(() -> {
            saturate("learns");
            return limit.limit().value() == 4;
        });

        awaitText(card("learns"), "4 is the largest that is allowed.");
        assertThat(text("learns")).containsPattern("Raised .*: calls waited, and the backend did not slow down.");
        assertThat(limitOf("learns")).isEqualTo("Limit 4 (auto)");
        assertThat(text("learns")).containsPattern("Answers/s\\s+[0-9]").containsPattern("Base latency\\s+[0-9]");
        await().untilAsserted(() -> assertThat(drawn("learns", ".limit .line")).containsPattern("H[0-9]+V"));

        limit.limitByOperator(3);
        awaitText(card("learns"), "An operator lowered it to 3; otherwise it is 4.");
        limit.limitBy(() -> 1);
        awaitText(card("learns"), "Lowered while the backend recovers; it grows with each good answer, up to 4.");
        assertThat(limitOf("learns")).isEqualTo("Limit 1 (ramp)");
        assertNoBrowserErrors();
    }

    /** As many calls as fill the limit and its queue for a moment. */
    private void saturate(String name) {
        List<CompletableFuture<TestCaller.Answer>> answers = IntStream.range(0, 24)
                .mapToObj(i -> TestCaller.ask(gateway.port(), Door.COMPILED.path(name, "saturated")))
                .toList();
        answers.forEach(CompletableFuture::join);
    }

    @Test
    void drawsEachInstanceAndDrainsOneAfterConfirmation() {
        List<String> uris = replicas();
        gateway = setup(backend).instances("replicated", uris).start();
        open(gateway.managementPort());
        awaitLive();
        awaitText(card("replicated") + " .instances", "3 of 3 take calls");
        assertThat(browser()
                        .findElement(By.cssSelector(card("orders") + " .instances"))
                        .isDisplayed())
                .as("a single instance")
                .isFalse();
        String first = cell(uris.getFirst());
        awaitText(first, uris.getFirst().replace("http://", ""));
        awaitText(first, "closed");
        assertThat(browser().findElement(By.cssSelector(first)).getDomAttribute("title"))
                .contains(uris.getFirst(), "closed since", "the start", "0 in flight");

        click(first);
        awaitText("#ask", "Drain " + uris.getFirst().replace("http://", "") + " of replicated?");
        click("#ask-yes");
        awaitText(first, "drained");
        awaitText(card("replicated") + " .instances", "2 of 3 take calls · 1 drained");
        awaitText(card("replicated") + " .reason", "Lowered to the share of the instances that take calls");
        awaitText("#recent-events [data-kind=instance-drained]", uris.getFirst() + " was drained");
        assertThat(gateway.backend("replicated").instances().out()).hasSize(1);

        gateway.backend("replicated")
                .instances()
                .all()
                .get(1)
                .health()
                .resilience4j()
                .transitionToOpenState();
        awaitText(cell(uris.get(1)), "open");
        awaitText("#recent-events [data-kind=instance-ejected]", uris.get(1) + " was ejected");
        awaitText(card("replicated") + " .where", "instance-out");
        click(cell(uris.get(2)));
        click("#ask-yes");
        awaitText("#message", "is the last one that takes calls");

        click(first);
        awaitText("#ask", "Return ");
        click("#ask-yes");
        awaitText(card("replicated") + " .instances", "2 of 3 take calls");
        assertNoBrowserErrors();
    }

    /** Addresses without a server: no call is sent to them. */
    private static List<String> replicas() {
        return IntStream.rangeClosed(1, 3)
                .mapToObj(i -> "http://10.20.30." + i + ":8080")
                .toList();
    }

    private static String cell(String uri) {
        return card("replicated") + " [data-instance='" + uri + "']";
    }

    @Test
    void reconnectsAfterARestartOfTheGateway() {
        gateway = setup(backend).start();
        open(gateway.managementPort());
        awaitLive();
        int port = gateway.managementPort();
        Path file = gateway.file();
        gateway.close();
        awaitText("#connection", "Connection lost");

        gateway = TestGateway.startAgain(file, port);
        awaitLive();
        awaitText(card("orders") + " .badge", "closed");
    }

    @Test
    void asksForTheTokenOncePerTab() {
        gateway = setup(backend).weir("management: { token: " + TOKEN + " }").start();
        open(gateway.managementPort());
        awaitText("#token", "Management token");
        browser().findElement(By.id("token-value")).sendKeys("wrong", Keys.ENTER);
        await().until(() -> browser().findElement(By.id("token-value")).isDisplayed());
        browser().findElement(By.id("token-value")).sendKeys(TOKEN, Keys.ENTER);
        awaitLive();
        click(card("orders") + " [data-action=closed]");
        click("#ask-yes");
        await().until(() -> gateway.backend("orders").health().state() == State.DISABLED);

        browser().navigate().refresh();
        awaitLive();
    }

    /**
     * Takes the pictures of ops/README.md: {@code -Dpictures=DIRECTORY}. Forty seconds of traffic to 5, to
     * 30 and to 200 backends, of which some are in trouble.
     */
    @ParameterizedTest
    @ValueSource(ints = {5, 30, 200})
    @EnabledIfSystemProperty(named = "pictures", matches = ".+")
    @SuppressWarnings("FutureReturnValueIgnored") // A call that fails is part of the picture.
    void takesThePicturesOfTheDocumentation(int count) throws IOException, InterruptedException {
        List<TestBackend> started = new ArrayList<>();
        List<String> replicas = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            TestBackend replica = answering(30, i == 1 ? 500 : 200);
            started.add(replica);
            replicas.add(replica.uri());
        }
        TestBackend slow = answering(200, 200);
        TestBackend busy = answering(40, 200);
        TestBackend hanging = TestBackend.healthy();
        hanging.behave(hanging.hang());
        started.addAll(List.of(slow, busy, hanging));
        ScheduledExecutorService callers = Executors.newScheduledThreadPool(2);
        try {
            TestGateway.Setup many = TestGateway.setup()
                    .backend("inventory", hanging.uri(), "deadline: 800ms")
                    .instances("payments", replicas)
                    .backend("search", slow.uri(), "bulkhead: { max-concurrent-calls: 4, queue-capacity: 8 }")
                    .backend("orders", busy.uri(), "bulkhead: { limit: { initial: 2 } }")
                    .backend("users", backend.uri());
            Map<String, Integer> perMinute = new HashMap<>(
                    Map.of("inventory", 480, "payments", 2_400, "search", 1_320, "orders", 6_000, "users", 480));
            for (int i = 0; perMinute.size() < count; i++) {
                String name = PRODUCTS.get(i % PRODUCTS.size()) + "-" + DUTIES.get(i / PRODUCTS.size());
                many.backend(name, backend.uri());
                perMinute.put(name, 10 + 7 * (i % 13));
            }
            perMinute.keySet().forEach(name -> many.route(name, name));
            gateway = many.start();
            perMinute.forEach((name, rate) -> callers.scheduleAtFixedRate(
                    () -> TestCaller.ask(gateway.port(), Door.COMPILED.path(name, "picture")),
                    0,
                    60_000_000 / rate,
                    TimeUnit.MICROSECONDS));
            open(gateway.managementPort());
            awaitLive();
            // The page draws the last two minutes: some of it has to show traffic. Nothing is asserted about
            // it.
            Thread.sleep(Duration.ofSeconds(40));
            String prefix = count == 5 ? "" : count + "-";
            takePicture(prefix + "light.png");
            if (count == 5) {
                refuseForThePicture();
            }
            useScheme("dark");
            takePicture(prefix + "dark.png");
            useDesktop();
            usePhone(1_400);
            takePicture(prefix + "phone.png");
        } finally {
            useDesktop();
            callers.shutdownNow();
            started.forEach(TestBackend::close);
        }
    }

    private static final List<String> PRODUCTS = List.of(
            "accounts",
            "billing",
            "cart",
            "catalogue",
            "checkout",
            "delivery",
            "invoices",
            "loyalty",
            "pricing",
            "recommendations",
            "returns",
            "reviews",
            "stock",
            "suppliers",
            "vouchers");

    private static final List<String> DUTIES = List.of(
            "api",
            "audit",
            "batch",
            "cache",
            "events",
            "export",
            "feed",
            "import",
            "index",
            "mobile",
            "partner-integration-europe-west",
            "report",
            "search",
            "sync");

    private static TestBackend answering(int millis, int status) {
        return TestBackend.start((request, conversation) -> {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(millis));
            conversation.answer(status, "picture");
        });
    }

    private void refuseForThePicture() throws IOException {
        refuse("deadline: 800ms", "dedline: 800ms");
        awaitText("#refused-problems", "dedline");
        awaitText("#recent-events", "dedline");
        // Operators see the path that they have given, and not that of a temporary directory.
        browser().executeScript("""
                const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
                while (texts.nextNode()) {
                  texts.currentNode.data = texts.currentNode.data.replaceAll(arguments[0], '');
                }
                """, gateway.file().getParent() + "/");
    }

    private void refuse(String valid, String invalid) throws IOException {
        gateway.rewrite(Files.readString(gateway.file()).replace(valid, invalid));
        assertThat(reload(gateway).problems()).isNotEmpty();
    }
}
