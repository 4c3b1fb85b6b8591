package io.weir.dashboard;

import static io.weir.dashboard.TestBrowser.assertFitsInWidth;
import static io.weir.dashboard.TestBrowser.assertFocused;
import static io.weir.dashboard.TestBrowser.assertNoBrowserErrors;
import static io.weir.dashboard.TestBrowser.awaitLive;
import static io.weir.dashboard.TestBrowser.awaitText;
import static io.weir.dashboard.TestBrowser.browser;
import static io.weir.dashboard.TestBrowser.click;
import static io.weir.dashboard.TestBrowser.evaluate;
import static io.weir.dashboard.TestBrowser.faintTexts;
import static io.weir.dashboard.TestBrowser.isFocused;
import static io.weir.dashboard.TestBrowser.luminance;
import static io.weir.dashboard.TestBrowser.open;
import static io.weir.dashboard.TestBrowser.press;
import static io.weir.dashboard.TestBrowser.tabTo;
import static io.weir.dashboard.TestBrowser.takePicture;
import static io.weir.dashboard.TestBrowser.useDesktop;
import static io.weir.dashboard.TestBrowser.usePhone;
import static io.weir.dashboard.TestBrowser.useScheme;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

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
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.MethodOrdererContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;

/**
 * The dashboard in a real browser, Debian's Chromium with its driver. Skipped if they are not installed,
 * unless {@code -Dbrowser=required}.
 */
@Timeout(180)
@TestMethodOrder(DashboardBrowserIT.SharedGatewayFirst.class)
class DashboardBrowserIT {

    /** A test that starts a gateway of its own; the others share one, and run first. */
    private static final String OWN_GATEWAY = "own-gateway";

    private static final String TOKEN = "0123456789abcdef0123";

    @TempDir
    static Path profile;

    private static TestBackend backend;
    /** Started by the first test that needs it. */
    private static @Nullable TestGateway shared;
    /** The shared gateway's file, as it was at the start. */
    private static String original = "";

    @SuppressWarnings("NullAway.Init") // Before each test, or by the test.
    private TestGateway gateway;

    @BeforeAll
    static void startBrowser() {
        TestBrowser.start(profile);
        backend = TestBackend.healthy();
    }

    @AfterAll
    static void stopBrowser() {
        TestBrowser.stop();
        closeShared();
        if (backend != null) {
            backend.close();
        }
    }

    private static void closeShared() {
        if (shared != null) {
            shared.close();
            shared = null;
        }
    }

    /** The shared gateway ends before others start: the end of one would end the event loops of all. */
    static final class SharedGatewayFirst implements MethodOrderer {

        @Override
        public void orderMethods(MethodOrdererContext context) {
            context.getMethodDescriptors()
                    .sort(Comparator.comparing(
                            method -> method.findAnnotation(Tag.class).isPresent()));
        }
    }

    @BeforeEach
    void startGateway(TestInfo test) throws IOException {
        backend.behave(TestBackend.ECHO);
        if (test.getTags().contains(OWN_GATEWAY)) {
            closeShared();
        } else {
            if (shared == null) {
                shared = setup().backend("patient", backend.uri(), "recovery: { probe-interval: 50s }")
                        .start();
                original = Files.readString(shared.file());
            }
            gateway = shared;
        }
    }

    /** Ends a gateway of the test's own; undoes the changes of the test in the shared one. */
    @AfterEach
    void restoreGateway() {
        if (gateway == null) {
            return;
        }
        if (gateway != shared) {
            gateway.close();
        } else {
            gateway.rewrite(original);
            assertThat(reload().problems()).isEmpty();
            gateway.calm();
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

    private static String card(String name) {
        return "[data-backend='" + name + "']";
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
                .matches("M[0-9]+,[0-9.]+H.*")
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
    void showsTheTimeToABreakersNextProbe() {
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
            useScheme(scheme);
            open(gateway.managementPort());
            awaitLive();
            awaitText(card("orders"), "closed");
            awaitText("#refused-problems", "soon");
            if (scheme.equals("light")) {
                assertThat(luminance()).isGreaterThan(0.8);
            } else {
                assertThat(luminance()).isLessThan(0.1);
            }
            assertThat(faintTexts()).isEmpty();
        } finally {
            useDesktop();
        }
    }

    /** Sorted by name, the failing backend would be last. */
    @Test
    void movesAFailingBackendToTheTopAndBackAfterItsRecovery() throws IOException {
        open(gateway.managementPort());
        awaitLive();
        awaitCards("neighbour", "orders", "patient");

        gateway.backend("orders").health().resilience4j().transitionToOpenState();
        awaitCards("orders", "neighbour", "patient");
        gateway.assertNeighbourUnharmed();
        awaitText(card("orders") + " .badge", "open");

        gateway.backend("orders").health().resilience4j().transitionToClosedState();
        awaitCards("neighbour", "orders", "patient");
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
        awaitText("#recent-events li:first-child", "The breaker was forced open, until ");

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
        awaitText(card("orders"), "Fixed by an operator, until it is released.");
        assertThat(limitOf("orders")).isEqualTo("Limit 9 (operator)");

        click(card("orders") + " [data-action=limit]");
        click("#ask-auto");
        awaitText(card("orders"), "Unchanged since the start");
        assertThat(limitOf("orders")).isEqualTo("Limit 8 (auto)");

        click(card("orders") + " [data-action=limit]");
        click("#ask-release");
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
     * Takes the pictures of ops/README.md: {@code -Dpictures=DIRECTORY}. Forty seconds of traffic to 5, to
     * 30 and to 200 backends, of which some are in trouble.
     */
    @ParameterizedTest
    @ValueSource(ints = {5, 30, 200})
    @Tag(OWN_GATEWAY)
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
                    .weir("reload: { watch: false }")
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
    @Tag(OWN_GATEWAY)
    void reconnectsAfterARestartOfTheGateway() {
        gateway = setup().start();
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
            usePhone(844);
            open(gateway.managementPort());
            awaitLive();
            awaitText(card("orders"), "closed");
            awaitText("#refused-problems", "soon");
            assertFitsInWidth();
            for (WebElement control : browser().findElements(By.cssSelector("button, input, select, meter, svg"))) {
                if (control.isDisplayed()) {
                    assertThat(control.getAccessibleName())
                            .as(control.getDomProperty("outerHTML"))
                            .isNotBlank();
                }
            }
        } finally {
            useDesktop();
        }
    }
}
