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
import static io.weir.dashboard.TestBrowser.luminance;
import static io.weir.dashboard.TestBrowser.open;
import static io.weir.dashboard.TestBrowser.press;
import static io.weir.dashboard.TestBrowser.tabTo;
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
import io.weir.management.RecentEvents;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;

/**
 * The dashboard in a real browser, Debian's Chromium with its driver; all tests share a gateway. Skipped
 * if they are not installed, unless {@code -Dbrowser=required}.
 */
@Tag("full")
class DashboardBrowserIT {

    @TempDir
    static Path profile;

    private static TestBackend backend;
    private static TestGateway gateway;
    /** The gateway's file, as it was at the start. */
    private static String original = "";

    @BeforeAll
    static void start() throws IOException {
        TestBrowser.start(profile);
        backend = TestBackend.healthy();
        gateway = setup(backend)
                .backend("patient", backend.uri(), "recovery: { probe-interval: 50s }")
                .start();
        original = Files.readString(gateway.file());
    }

    @AfterAll
    static void stop() {
        TestBrowser.stop();
        if (gateway != null) {
            gateway.close();
        }
        if (backend != null) {
            backend.close();
        }
    }

    @AfterEach
    void restoreTheGateway() {
        backend.behave(TestBackend.ECHO);
        gateway.rewrite(original);
        assertThat(reload(gateway).problems()).isEmpty();
        gateway.calm();
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
        assertThat(reload(gateway).problems()).isEmpty();
        await().until(() -> !banner.isDisplayed());
        assertNoBrowserErrors();
    }

    /** Reloads a file with five problems, which is refused. */
    private List<String> refuse() throws IOException {
        gateway.rewrite(Files.readString(gateway.file())
                .replace("deadline: 800ms", "deadline: soon")
                .replace("threshold: 400ms", "treshold: 400ms")
                .replace("calls: 7", "calls: 0, queue-capacity: -1, colour: blue"));
        List<String> problems = reload(gateway).problems();
        assertThat(problems).hasSize(5);
        return problems;
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

    @Test
    void forcesABreakerForATime() {
        open(gateway.managementPort());
        awaitLive();
        click(card("orders") + " [data-action=open]");
        evaluate("document.getElementById('ask-duration').value = '10m'; return ''", String.class);
        click("#ask-yes");
        await().until(() -> gateway.backend("orders").health().state() == State.FORCED_OPEN);
        awaitText(card("orders") + " .badge", "forced-open");
        awaitText(card("orders"), "breaker forced open, until ");
        awaitText("#recent-events li:first-child", "The breaker was forced open, until ");
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
    void fitsAPhoneAndNamesEveryControl() throws IOException {
        refuse();
        try {
            usePhone(844);
            open(gateway.managementPort());
            awaitLive();
            awaitText(card("orders"), "closed");
            awaitText("#refused-problems", "soon");
            assertFitsInWidth();
            List<?> controls = evaluate(
                    "return [...document.querySelectorAll('button, input, select, meter, svg')]"
                            + ".filter(control => control.checkVisibility({ opacityProperty: true, visibilityProperty: true }))",
                    List.class);
            assertThat(controls).hasSizeGreaterThan(10);
            for (Object control : controls) {
                WebElement element = (WebElement) control;
                assertThat(element.getAccessibleName())
                        .as(() -> String.valueOf(element.getDomProperty("outerHTML")))
                        .isNotBlank();
            }
        } finally {
            useDesktop();
        }
    }
}
