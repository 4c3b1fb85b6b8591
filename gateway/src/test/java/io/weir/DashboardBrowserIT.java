package io.weir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

/**
 * The dashboard in a real browser: Debian's Chromium with its driver. Skipped where they are not installed, unless {@code -Dbrowser=required}.
 */
@Timeout(180)
class DashboardBrowserIT {

    private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
    private static final Path DRIVER = Path.of("/usr/bin/chromedriver");
    private static final String TOKEN = "0123456789abcdef0123";

    @TempDir
    static Path profile;

    private static @Nullable ChromeDriver started;

    private TestBackend backend;
    private TestGateway gateway;

    @BeforeAll
    static void startBrowser() {
        boolean there = Files.isExecutable(CHROMIUM) && Files.isExecutable(DRIVER);
        if ("required".equals(System.getProperty("browser"))) {
            assertThat(there).as("%s and %s are installed", CHROMIUM, DRIVER).isTrue();
        }
        assumeTrue(there, () -> "no " + CHROMIUM + " with " + DRIVER + ": apt-get install chromium chromium-driver");
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
    void startGateway() {
        backend = TestBackend.healthy();
        gateway = setup().start();
    }

    @AfterEach
    void stopGateway() {
        if (gateway != null) {
            gateway.close();
            backend.close();
        }
    }

    private TestGateway.Setup setup() {
        return TestGateway.setup()
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
            throw new IllegalStateException("no browser");
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

    /** What the page says to a question in JavaScript. */
    private static <T> T asked(String script, Class<T> type) {
        return type.cast(Objects.requireNonNull(browser().executeScript(script), script));
    }

    /** The page's own policy refused nothing, and no script failed; what the gateway refuses or does not answer is for the tests. */
    private static void assertNoComplaint() {
        assertThat(browser().manage().logs().get(LogType.BROWSER).getAll())
                .filteredOn(entry -> !entry.getMessage().contains("ERR_")
                        && !entry.getMessage().contains("Failed to load resource"))
                .isEmpty();
    }

    @Test
    void showsABackendThatHangsOnTopWithinTwoSeconds() {
        open(gateway.managementPort());
        awaitLive();
        awaitText(card("orders"), "closed");
        backend.behave(backend.hang());
        // The page itself notes when the card first says that something is wrong: how long the driver takes is no
        // matter.
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
        await().until(() -> asked("return window.seen", Long.class) > 0);
        long seenAt = asked("return window.seen", Long.class);
        assertThat(seenAt - hungAt).as("ms until the page showed it").isBetween(0L, 2_000L);

        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(504));
        awaitText(card("orders") + " .outcomes", "deadline-exceeded");
        await().until(() -> asked("return document.querySelector('.card').dataset.backend", String.class)
                .equals("orders"));
        assertThat(browser().getTitle()).isEqualTo("(1) Weir");
        assertNoComplaint();
    }

    @Test
    void forcesABreakerAfterItHasAsked() {
        open(gateway.managementPort());
        awaitLive();
        click(card("orders") + " [data-action=open]");
        awaitText("#ask", "Force the breaker of orders open?");
        click("#ask-no");
        assertThat(gateway.backend("orders").breaker().state()).isEqualTo(State.CLOSED);

        click(card("orders") + " [data-action=open]");
        click("#ask-yes");
        await().until(() -> gateway.backend("orders").breaker().state() == State.FORCED_OPEN);
        awaitText(card("orders") + " .badge", "forced-open");
        awaitText("#happenings", "The breaker was forced open");

        click(card("orders") + " [data-action=released]");
        click("#ask-yes");
        await().until(() -> gateway.backend("orders").breaker().state() == State.CLOSED);
        awaitText(card("orders") + " .badge", "closed");
        assertNoComplaint();
    }

    @Test
    void changesALimitWithTheKeyboardAlone() {
        open(gateway.managementPort());
        awaitLive();
        awaitText(card("orders"), "0 of 7");
        WebElement button = browser().findElement(By.cssSelector(card("orders") + " [data-action=limit]"));
        browser().executeScript("arguments[0].focus()", button);
        button.sendKeys(Keys.ENTER);
        awaitText("#ask", "Change the limit of orders?");
        WebElement field = browser().switchTo().activeElement();
        assertThat(field.getDomAttribute("id")).isEqualTo("ask-calls");
        field.sendKeys(Keys.chord(Keys.CONTROL, "a"), "9", Keys.ENTER);

        await().until(() -> gateway.backend("orders").bulkhead().maxConcurrentCalls() == 9);
        awaitText(card("orders"), "0 of 9");
        awaitText("#happenings", "max-concurrent-calls: 7 -> 9");
    }

    @Test
    void saysWhatTheGatewayRefusesToChange() {
        open(gateway.managementPort());
        awaitLive();
        click(card("orders") + " [data-action=limit]");
        browser().findElement(By.id("ask-queue")).sendKeys(Keys.chord(Keys.CONTROL, "a"), "99999999");
        click("#ask-yes");

        awaitText("#message", "orders was not changed: ");
        assertThat(gateway.backend("orders").bulkhead().maxConcurrentCalls()).isEqualTo(7);
    }

    @Test
    void recoversAfterTheGatewayHasRestarted() {
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
    void asksForTheTokenAndKeepsItForTheTab() {
        gateway.close();
        gateway = setup().weir("management: { token: " + TOKEN + " }").start();
        open(gateway.managementPort());
        awaitText("#token", "Management token");
        browser().findElement(By.id("token-value")).sendKeys("wrong", Keys.ENTER);
        await().until(() -> browser().findElement(By.id("token-value")).isDisplayed());
        browser().findElement(By.id("token-value")).sendKeys(TOKEN, Keys.ENTER);
        awaitLive();
        click(card("orders") + " [data-action=closed]");
        click("#ask-yes");
        await().until(() -> gateway.backend("orders").breaker().state() == State.DISABLED);

        browser().navigate().refresh();
        awaitLive();
    }

    @Test
    void fitsAPhoneAndEveryControlHasAName() {
        try {
            browser()
                    .executeCdpCommand(
                            "Emulation.setDeviceMetricsOverride",
                            Map.of("width", 390, "height", 844, "deviceScaleFactor", 1, "mobile", true));
            open(gateway.managementPort());
            awaitLive();
            awaitText(card("orders"), "closed");
            assertThat(asked("return document.documentElement.scrollWidth <= window.innerWidth", Boolean.class))
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
