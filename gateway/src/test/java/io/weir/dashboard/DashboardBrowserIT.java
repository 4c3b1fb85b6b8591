package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.limit.LimitInForce;
import io.weir.management.RecentEvents;
import io.weir.reload.ConfigurationChange;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Level;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

/**
 * The dashboard in a real browser, Debian's Chromium with its driver. Skipped if they are not installed,
 * unless {@code -Dbrowser=required}.
 */
@Timeout(180)
class DashboardBrowserIT {

    private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
    private static final Path DRIVER = Path.of("/usr/bin/chromedriver");
    /** A test that starts a gateway of its own. */
    private static final String OWN_GATEWAY = "own-gateway";

    private static final String TOKEN = "0123456789abcdef0123";

    @TempDir
    static Path profile;

    private static @Nullable ChromeDriver started;

    private TestBackend backend;

    @SuppressWarnings("NullAway.Init") // Before each test, or by the test.
    private TestGateway gateway;

    @BeforeAll
    static void startBrowser() {
        boolean installed = Files.isExecutable(CHROMIUM) && Files.isExecutable(DRIVER);
        if ("required".equals(System.getProperty("browser"))) {
            assertThat(installed)
                    .as("%s and %s are installed", CHROMIUM, DRIVER)
                    .isTrue();
        }
        assumeTrue(
                installed, () -> "no " + CHROMIUM + " with " + DRIVER + ": apt-get install chromium chromium-driver");
        ChromeOptions options = new ChromeOptions();
        options.setBinary(CHROMIUM.toFile());
        options.addArguments(
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--window-size=1360,1000",
                "--user-data-dir=" + profile);
        LoggingPreferences logs = new LoggingPreferences();
        logs.enable(LogType.BROWSER, Level.ALL);
        options.setCapability("goog:loggingPrefs", logs);
        ChromeDriverService service = new ChromeDriverService.Builder()
                .usingDriverExecutable(DRIVER.toFile())
                .usingAnyFreePort()
                .build();
        started = new ChromeDriver(service, options);
    }

    @AfterAll
    static void stopBrowser() {
        if (started != null) {
            started.quit();
        }
    }

    @BeforeEach
    void startGateway(TestInfo test) {
        backend = TestBackend.healthy();
        if (!test.getTags().contains(OWN_GATEWAY)) {
            gateway = setup().start();
        }
    }

    @AfterEach
    void stopGateway() {
        if (gateway != null) {
            gateway.close();
            backend.close();
        }
    }

    /** Without a file watch: tests reload explicitly. */
    private TestGateway.Setup setup() {
        return TestGateway.setup()
                .weir("reload: { watch: false }")
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 800ms",
                        "circuit-breaker: { slow-call-duration-threshold: 400ms }",
                        "bulkhead: { max-concurrent-calls: 7 }")
                .route("orders", "orders");
    }

    private static ChromeDriver browser() {
        ChromeDriver browser = started;
        if (browser == null) {
            throw new IllegalStateException("browser not started");
        }
        return browser;
    }

    private static void open(int port) {
        browser().get("http://127.0.0.1:" + port + "/dashboard");
    }

    private static void awaitLive() {
        awaitText("#connection", "Live");
    }

    private static void awaitText(String selector, String text) {
        await().ignoreException(StaleElementReferenceException.class)
                .untilAsserted(() -> assertThat(browser().findElements(By.cssSelector(selector)))
                        .extracting(WebElement::getText)
                        .anySatisfy(shown -> assertThat(shown).contains(text)));
    }

    private static String card(String name) {
        return "[data-backend='" + name + "']";
    }

    private static void click(String selector) {
        browser().findElement(By.cssSelector(selector)).click();
    }

    /** The result of a script in the page. */
    private static <T> T evaluate(String script, Class<T> type) {
        return type.cast(Objects.requireNonNull(browser().executeScript(script), script));
    }

    /**
     * No violation of the content security policy, and no failed script; failed requests to the gateway are
     * ignored.
     */
    private static void assertNoBrowserErrors() {
        assertThat(browser().manage().logs().get(LogType.BROWSER).getAll())
                .filteredOn(entry -> !entry.getMessage().contains("ERR_")
                        && !entry.getMessage().contains("Failed to load resource"))
                .isEmpty();
    }

    @Test
    void showsAHangingBackendOnTopWithinTwoSeconds() {
        open(gateway.managementPort());
        awaitLive();
        awaitText(card("orders"), "closed");
        backend.behave(backend.hang());
        // Repeated, since a busy machine may be late once; a slow page is late every time.
        long millis = Long.MAX_VALUE;
        for (int round = 0; round < 3 && millis > 2_000; round++) {
            millis = millisToShowAHang();
        }
        assertThat(millis).as("milliseconds until the page showed the hang").isBetween(0L, 2_000L);

        awaitText(card("orders") + " .outcomes", "deadline-exceeded");
        await().until(() -> evaluate("return document.querySelector('.card').dataset.backend", String.class)
                .equals("orders"));
        assertThat(browser().getTitle()).isEqualTo("(1) Weir");
        assertNoBrowserErrors();
    }

    private long millisToShowAHang() {
        gateway.calm();
        await().until(() -> evaluate("return " + part("orders", "") + ".dataset.trouble", String.class)
                .equals("calm"));
        // The page itself records when the card first shows trouble, so that the driver's delay does not
        // count.
        browser().executeScript("""
                window.seen = 0;
                const card = document.querySelector("[data-backend='orders']");
                new MutationObserver(() => {
                  if (card.dataset.trouble !== 'calm' && !window.seen) { window.seen = Date.now(); }
                }).observe(card, { attributes: true });
                """);
        long hungAt = System.currentTimeMillis();
        List<CompletableFuture<TestCaller.Answer>> answers = IntStream.range(0, 4)
                .mapToObj(i -> TestCaller.ask(gateway.port(), Door.COMPILED.path("orders", "hangs")))
                .toList();
        await().until(() -> evaluate("return window.seen", Long.class) > 0);
        long seenAt = evaluate("return window.seen", Long.class);
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(504));
        return seenAt - hungAt;
    }

    /**
     * Backend orders gets twice as many requests as backend sick, which fails and has its breaker in dry-run
     * mode.
     */
    @Test
    @Tag(OWN_GATEWAY)
    void drawsEveryFigureOfABackend() {
        try (TestBackend sick = TestBackend.start((request, conversation) ->
                conversation.write("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"))) {
            gateway = setup().backend("sick", sick.uri(), "circuit-breaker: { enforce: false }")
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

    @Test
    void showsAFixedLimitAsFixedAndDrawsIt() {
        open(gateway.managementPort());
        awaitLive();

        awaitText(card("orders"), "Fixed by the configuration.");
        assertThat(limitOf("orders")).isEqualTo("Limit 7 (fixed)");
        assertThat(text("orders")).doesNotContain("Answers/s").doesNotContain("At limit");
        await().untilAsserted(() -> assertThat(drawn("orders", ".limit .line"))
                .matches("M[0-9]+,2.0H.*")
                .doesNotContain("undefined"));
        assertNoBrowserErrors();
    }

    /** Every call finds the limit full, so it grows; then a recovering backend holds it down. */
    @Test
    @Tag(OWN_GATEWAY)
    void showsWhyAnAdaptiveLimitIsWhatItIs() {
        gateway = setup().backend(
                        "learns", backend.uri(), "deadline: 2s", "bulkhead: { limit: { min: 2, initial: 2, max: 4 } }")
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

    private static String limitOf(String name) {
        return browser()
                .findElement(By.cssSelector(card(name) + " .limit p"))
                .getText()
                .replaceAll("\\s+", " ");
    }

    private void get(String name) throws IOException {
        TestCaller.get(gateway.port(), Door.COMPILED.path(name, "drawn"));
    }

    private static String text(String name) {
        return evaluate("return " + part(name, "") + ".innerText", String.class);
    }

    private static String drawn(String name, String selector) {
        return evaluate("return " + part(name, selector) + ".getAttribute('d')", String.class);
    }

    /** A script that selects a part of a backend's card. */
    private static String part(String name, String selector) {
        return "document.querySelector(\"" + card(name) + ' ' + selector + "\")";
    }

    private static double radius(String name) {
        return Double.parseDouble(
                evaluate("return " + part(name, ".circle circle") + ".getAttribute('r')", String.class));
    }

    private static String colour(String name) {
        return evaluate("return getComputedStyle(" + part(name, ".circle circle") + ").fill", String.class);
    }

    /**
     * The page shows whole seconds above ten; the countdown starts at 50 seconds, with a jitter of a tenth.
     */
    @Test
    @Tag(OWN_GATEWAY)
    void showsTheTimeToABreakersNextProbe() {
        gateway = setup().backend("patient", backend.uri(), "recovery: { probe-interval: 50s }")
                .start();
        open(gateway.managementPort());
        awaitLive();
        gateway.backend("patient").health().resilience4j().transitionToOpenState();
        awaitText(card("patient") + " .badge", "open · probe in ");
        int first = secondsToProbe();
        assertThat(first).isBetween(20, 55);

        await().untilAsserted(() -> assertThat(secondsToProbe()).isBetween(10, first - 2));
        awaitText("#recent-events [data-kind=breaker-opened]", "patient");
        assertNoBrowserErrors();
    }

    private static int secondsToProbe() {
        Matcher shown = Pattern.compile("open · probe in ([0-9]+) s")
                .matcher(browser()
                        .findElement(By.cssSelector(card("patient") + " .badge"))
                        .getText());
        assertThat(shown.matches()).as("%s", shown).isTrue();
        return Integer.parseInt(shown.group(1));
    }

    /** The banner stays after other events have pushed the refusal out of the list. */
    @Test
    void showsEveryProblemOfARefusedFileUntilAValidOneIsApplied() throws IOException {
        String valid = Files.readString(gateway.file());
        open(gateway.managementPort());
        awaitLive();
        awaitText(card("orders"), "closed");
        WebElement banner = browser().findElement(By.id("refused"));
        assertThat(banner.isDisplayed()).isFalse();

        List<String> problems = refuse();
        awaitText("#recent-events [data-kind=configuration-refused]", "and 2 more");
        await().until(banner::isDisplayed);
        assertThat(banner.getAriaRole()).isEqualTo("alert");
        assertThat(banner.getText()).contains("the previous configuration stays in force", "by an operator");

        for (int i = 0; i < RecentEvents.CAPACITY; i++) {
            gateway.backend("orders").health().resilience4j().transitionToOpenState();
            gateway.backend("orders").health().resilience4j().transitionToClosedState();
        }
        await().until(() -> evaluate(
                        "return document.querySelectorAll('#recent-events [data-kind=configuration-refused]').length",
                        Long.class)
                == 0);
        assertThat(banner.isDisplayed()).isTrue();
        assertThat(evaluate(
                        "return [...document.querySelectorAll('#refused-problems li')].map(line => line.textContent).join('|')",
                        String.class))
                .isEqualTo(String.join("|", problems));

        gateway.rewrite(valid);
        assertThat(reload().problems()).isEmpty();
        await().until(() -> !banner.isDisplayed());
        assertNoBrowserErrors();
    }

    /** Reloads a file with five problems, which is refused. */
    private List<String> refuse() throws IOException {
        gateway.rewrite(Files.readString(gateway.file())
                .replace("deadline: 800ms", "deadline: soon")
                .replace("threshold: 400ms", "treshold: 400ms")
                .replace("calls: 7", "calls: 0, queue-capacity: -1, colour: blue"));
        List<String> problems = reload().problems();
        assertThat(problems).hasSize(5);
        return problems;
    }

    private ConfigurationChange reload() {
        return gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "an operator");
    }

    /** Text has a contrast of at least 4.5 to 1, as defined by WCAG, in both colour schemes. */
    @ParameterizedTest
    @ValueSource(strings = {"light", "dark"})
    void followsTheSystemsColourSchemeWithReadableContrast(String scheme) throws IOException {
        refuse();
        try {
            browser()
                    .executeCdpCommand(
                            "Emulation.setEmulatedMedia",
                            Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
            open(gateway.managementPort());
            awaitLive();
            awaitText(card("orders"), "closed");
            awaitText("#refused-problems", "soon");
            double ground = evaluate(LUMINANCE + "return luminance(ground(document.body))", Number.class)
                    .doubleValue();
            if (scheme.equals("light")) {
                assertThat(ground).isGreaterThan(0.8);
            } else {
                assertThat(ground).isLessThan(0.1);
            }
            assertThat(evaluate(LUMINANCE + """
                            const faint = [];
                            for (const node of document.querySelectorAll('body *')) {
                              const words = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
                              if (!words || !node.checkVisibility() || node.matches('script, option, .skip')) continue;
                              const [one, other] = [luminance(rgb(getComputedStyle(node).color)), luminance(ground(node))];
                              const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
                              if (contrast < 4.5) faint.push(`${node.tagName}.${node.className} ${contrast.toFixed(2)}`);
                            }
                            return faint.join()
                            """, String.class)).isEmpty();
        } finally {
            browser().executeCdpCommand("Emulation.setEmulatedMedia", Map.of("features", List.of()));
        }
    }

    /**
     * The luminance of a colour, as defined by WCAG, and the background colour of a node, in any notation.
     */
    private static final String LUMINANCE = """
            const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
            const rgb = (colour) => {
              context.clearRect(0, 0, 1, 1);
              context.fillStyle = colour;
              context.fillRect(0, 0, 1, 1);
              return [...context.getImageData(0, 0, 1, 1).data];
            };
            const luminance = ([r, g, b]) => [[r, 0.2126], [g, 0.7152], [b, 0.0722]]
              .map(([c, weight]) => weight * (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
              .reduce((sum, part) => sum + part);
            const ground = (node) => {
              for (let at = node; at; at = at.parentElement) {
                const colour = rgb(getComputedStyle(at).backgroundColor);
                if (colour[3] === 255) return colour;
              }
              return [255, 255, 255, 255];
            };
            """;

    /** Sorted by name, the failing backend would be last. */
    @Test
    @Tag(OWN_GATEWAY)
    void movesAFailingBackendToTheTopAndBackAfterItsRecovery() throws IOException {
        gateway = setup().backend("billing", backend.uri())
                .backend("accounts", backend.uri())
                .start();
        open(gateway.managementPort());
        awaitLive();
        awaitCards("accounts", "billing", "neighbour", "orders");

        gateway.backend("orders").health().resilience4j().transitionToOpenState();
        awaitCards("orders", "accounts", "billing", "neighbour");
        gateway.assertNeighbourUnharmed();
        awaitText(card("orders") + " .badge", "open");

        gateway.backend("orders").health().resilience4j().transitionToClosedState();
        awaitCards("accounts", "billing", "neighbour", "orders");
        assertNoBrowserErrors();
    }

    private static void awaitCards(String... names) {
        await().untilAsserted(() -> assertThat(evaluate(
                        "return [...document.querySelectorAll('.card')].map(card => card.dataset.backend).join()",
                        String.class))
                .isEqualTo(String.join(",", names)));
    }

    @Test
    void forcesABreakerAfterConfirmation() {
        open(gateway.managementPort());
        awaitLive();
        click(card("orders") + " [data-action=open]");
        awaitText("#ask", "Force the breaker of orders open?");
        click("#ask-no");
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);

        click(card("orders") + " [data-action=open]");
        evaluate("document.getElementById('ask-duration').value = '10m'; return ''", String.class);
        click("#ask-yes");
        await().until(() -> gateway.backend("orders").health().state() == State.FORCED_OPEN);
        awaitText(card("orders") + " .badge", "forced-open");
        awaitText(card("orders"), "breaker forced open, until ");
        awaitText("#recent-events", "The breaker was forced open, until ");

        click(card("orders") + " [data-action=released]");
        click("#ask-yes");
        await().until(() -> gateway.backend("orders").health().state() == State.CLOSED);
        awaitText(card("orders") + " .badge", "closed");
        assertNoBrowserErrors();
    }

    @Test
    void forcesAndReleasesABreakerWithTheKeyboard() {
        open(gateway.managementPort());
        awaitLive();
        awaitText(card("orders") + " .badge", "closed");
        tabTo(card("orders") + " [data-action=open]");
        press(Keys.ENTER);
        awaitText("#ask", "Force the breaker of orders open?");
        // A second Enter cancels.
        press(Keys.ENTER);
        await().until(() -> !browser().findElement(By.id("ask")).isDisplayed());
        await().untilAsserted(() -> assertFocused(card("orders") + " [data-action=open]"));
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);

        press(Keys.ENTER);
        tabTo("#ask-yes");
        press(Keys.ENTER);
        await().until(() -> gateway.backend("orders").health().state() == State.FORCED_OPEN);
        awaitText(card("orders") + " .badge", "forced-open");

        // The pressed button is hidden; its counterpart has the focus.
        await().untilAsserted(() -> assertFocused(card("orders") + " [data-action=released]"));
        press(Keys.ENTER);
        tabTo("#ask-yes");
        press(Keys.ENTER);
        await().until(() -> gateway.backend("orders").health().state() == State.CLOSED);
        assertNoBrowserErrors();
    }

    /** Presses the tab key until this control has the focus. */
    private static void tabTo(String selector) {
        List<String> passed = new ArrayList<>();
        while (!isFocused(selector)) {
            passed.add(browser().switchTo().activeElement().getTagName());
            assertThat(passed).as("controls passed before %s", selector).hasSizeLessThan(60);
            press(Keys.TAB);
        }
    }

    private static boolean isFocused(String selector) {
        return evaluate("return document.activeElement.matches(\"" + selector + "\")", Boolean.class);
    }

    private static void assertFocused(String selector) {
        assertThat(isFocused(selector)).as("%s has the focus", selector).isTrue();
    }

    private static void press(CharSequence key) {
        new Actions(browser()).sendKeys(key).perform();
    }

    @Test
    void changesALimitWithTheKeyboard() {
        open(gateway.managementPort());
        awaitLive();
        awaitText(card("orders"), "0 of 7");
        tabTo(card("orders") + " [data-action=limit]");
        press(Keys.ENTER);
        awaitText("#ask", "Change the limit of orders?");
        assertFocused("#ask-calls");
        browser().switchTo().activeElement().sendKeys(Keys.chord(Keys.CONTROL, "a"), "9", Keys.ENTER);

        await().until(() -> gateway.backend("orders").bulkhead().maxConcurrentCalls() == 9);
        awaitText(card("orders"), "0 of 9");
        awaitText("#recent-events", "max-concurrent-calls: 7 -> 9");
        awaitText(card("orders"), "Fixed by an operator, until the next reload.");
        assertThat(limitOf("orders")).isEqualTo("Limit 9 (operator)");

        click(card("orders") + " [data-action=limit]");
        click("#ask-auto");
        awaitText(card("orders"), "Unchanged since the start");
        assertThat(limitOf("orders")).isEqualTo("Limit 8 (auto)");

        assertThat(reload().problems()).isEmpty();
        awaitText(card("orders"), "Fixed by the configuration.");
    }

    @Test
    @Tag(OWN_GATEWAY)
    void drawsEachInstanceAndDrainsOneAfterConfirmation() {
        List<String> uris = replicas(3);
        gateway = setup().instances("replicated", uris).start();
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
        click("#ask-no");
        click(first);
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

    @Test
    @Tag(OWN_GATEWAY)
    void drawsFiftyInstancesAsSmallCells() {
        List<String> uris = replicas(50);
        gateway = setup().instances("replicated", uris).start();
        open(gateway.managementPort());
        awaitLive();
        awaitText(card("replicated") + " .instances", "50 of 50 take calls");
        gateway.backend("replicated").instances().all().get(7).health().drain();
        gateway.backend("replicated")
                .instances()
                .all()
                .get(9)
                .health()
                .resilience4j()
                .transitionToOpenState();
        awaitText(cell(uris.get(7)), "drained");
        awaitText(card("replicated") + " .instances", "48 of 50 take calls · 1 drained · 1 open");
        assertThat(evaluate("return " + part("replicated", ".cells") + ".offsetHeight", Long.class))
                .as("height in pixels")
                .isLessThan(260);
        assertThat(browser().findElement(By.cssSelector(cell(uris.get(9)))).getAccessibleName())
                .contains(uris.get(9).replace("http://", ""), "open");

        // One tab stop; the arrow keys move between the cells.
        tabTo(cell(uris.getFirst()));
        press(Keys.ARROW_RIGHT);
        assertFocused(cell(uris.get(1)));
        press(Keys.ARROW_LEFT);
        press(Keys.ARROW_LEFT);
        assertFocused(cell(uris.get(49)));
        press(Keys.TAB);
        assertThat(isFocused(".cell")).isFalse();
        assertNoBrowserErrors();
    }

    /** Addresses without a server: no call is sent to them. */
    private static List<String> replicas(int count) {
        return IntStream.rangeClosed(1, count)
                .mapToObj(i -> "http://10.20.30." + i + ":8080")
                .toList();
    }

    private static String cell(String uri) {
        return card("replicated") + " [data-instance='" + uri + "']";
    }

    /**
     * Takes the pictures of ops/README.md: {@code -Dpictures=DIRECTORY}. Forty seconds of traffic to backends
     * of which some are in trouble.
     */
    @Test
    @Tag(OWN_GATEWAY)
    @EnabledIfSystemProperty(named = "pictures", matches = ".+")
    @SuppressWarnings("FutureReturnValueIgnored") // A call that fails is part of the picture.
    void takesThePicturesOfTheDocumentation() throws IOException, InterruptedException {
        List<TestBackend> started = new ArrayList<>();
        List<String> replicas = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            boolean fails = i == 1;
            TestBackend replica = TestBackend.start((request, conversation) -> {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(30));
                conversation.answer(fails ? 500 : 200, "picture");
            });
            started.add(replica);
            replicas.add(replica.uri());
        }
        TestBackend slow = TestBackend.start((request, conversation) -> {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
            conversation.answer(200, "picture");
        });
        TestBackend hanging = TestBackend.healthy();
        hanging.behave(hanging.hang());
        started.addAll(List.of(slow, hanging));
        ScheduledExecutorService callers = Executors.newScheduledThreadPool(2);
        try {
            gateway = TestGateway.setup()
                    .weir("reload: { watch: false }")
                    .backend("inventory", hanging.uri(), "deadline: 800ms")
                    .instances("payments", replicas)
                    .backend("search", slow.uri(), "bulkhead: { max-concurrent-calls: 4, queue-capacity: 8 }")
                    .backend("orders", backend.uri(), "bulkhead: {}")
                    .backend("users", backend.uri())
                    .route("inventory", "inventory")
                    .route("payments", "payments")
                    .route("search", "search")
                    .route("orders", "orders")
                    .route("users", "users")
                    .start();
            Map<String, Integer> perSecond =
                    Map.of("inventory", 8, "payments", 40, "search", 22, "orders", 50, "users", 8);
            perSecond.forEach((name, rate) -> callers.scheduleAtFixedRate(
                    () -> TestCaller.ask(gateway.port(), Door.COMPILED.path(name, "picture")),
                    0,
                    1_000_000 / rate,
                    TimeUnit.MICROSECONDS));
            open(gateway.managementPort());
            awaitLive();
            // The page draws the last minute: most of it has to show traffic. Nothing is asserted about it.
            Thread.sleep(Duration.ofSeconds(40));
            takePicture("light.png");
            refuse("deadline: 800ms", "dedline: 800ms");
            browser()
                    .executeCdpCommand(
                            "Emulation.setEmulatedMedia",
                            Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", "dark"))));
            awaitText("#refused-problems", "dedline");
            awaitText("#recent-events", "dedline");
            // Operators see the path that they have given, and not that of a temporary directory.
            browser().executeScript("""
                    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
                    while (texts.nextNode()) {
                      texts.currentNode.data = texts.currentNode.data.replaceAll(arguments[0], '');
                    }
                    """, gateway.file().getParent() + "/");
            takePicture("dark.png");
            browser().executeCdpCommand("Emulation.setEmulatedMedia", Map.of("features", List.of()));
            browser()
                    .executeCdpCommand(
                            "Emulation.setDeviceMetricsOverride",
                            Map.of("width", 390, "height", 1400, "deviceScaleFactor", 1, "mobile", true));
            takePicture("phone.png");
        } finally {
            browser().executeCdpCommand("Emulation.setEmulatedMedia", Map.of("features", List.of()));
            browser().executeCdpCommand("Emulation.clearDeviceMetricsOverride", Map.of());
            callers.shutdownNow();
            started.forEach(TestBackend::close);
        }
    }

    private static void takePicture(String name) throws IOException {
        Files.write(
                Path.of(System.getProperty("pictures")).resolve(name), browser().getScreenshotAs(OutputType.BYTES));
    }

    private void refuse(String valid, String invalid) throws IOException {
        gateway.rewrite(Files.readString(gateway.file()).replace(valid, invalid));
        assertThat(reload().problems()).isNotEmpty();
    }

    @Test
    void showsWhyTheGatewayRefusesAChange() {
        open(gateway.managementPort());
        awaitLive();
        click(card("orders") + " [data-action=limit]");
        browser().findElement(By.id("ask-queue")).sendKeys(Keys.chord(Keys.CONTROL, "a"), "99999999");
        click("#ask-yes");

        awaitText("#message", "orders was not changed: ");
        assertThat(gateway.backend("orders").bulkhead().maxConcurrentCalls()).isEqualTo(7);
    }

    @Test
    void reconnectsAfterARestartOfTheGateway() {
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
    @Tag(OWN_GATEWAY)
    void asksForTheTokenOncePerTab() {
        gateway = setup().weir("management: { token: " + TOKEN + " }").start();
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

    @Test
    void fitsAPhoneAndNamesEveryControl() throws IOException {
        refuse();
        try {
            browser()
                    .executeCdpCommand(
                            "Emulation.setDeviceMetricsOverride",
                            Map.of("width", 390, "height", 844, "deviceScaleFactor", 1, "mobile", true));
            open(gateway.managementPort());
            awaitLive();
            awaitText(card("orders"), "closed");
            awaitText("#refused-problems", "soon");
            assertThat(evaluate("return document.documentElement.scrollWidth <= window.innerWidth", Boolean.class))
                    .isTrue();
            for (WebElement control : browser().findElements(By.cssSelector("button, input, select, meter, svg"))) {
                if (control.isDisplayed()) {
                    assertThat(control.getAccessibleName())
                            .as(control.getDomProperty("outerHTML"))
                            .isNotBlank();
                }
            }
        } finally {
            browser().executeCdpCommand("Emulation.clearDeviceMetricsOverride", Map.of());
        }
    }
}
