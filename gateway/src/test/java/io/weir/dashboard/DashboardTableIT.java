package io.weir.dashboard;

import static io.weir.dashboard.TestBrowser.assertFitsInWidth;
import static io.weir.dashboard.TestBrowser.assertFocused;
import static io.weir.dashboard.TestBrowser.assertNoBrowserErrors;
import static io.weir.dashboard.TestBrowser.awaitText;
import static io.weir.dashboard.TestBrowser.browser;
import static io.weir.dashboard.TestBrowser.click;
import static io.weir.dashboard.TestBrowser.evaluate;
import static io.weir.dashboard.TestBrowser.faintTexts;
import static io.weir.dashboard.TestBrowser.open;
import static io.weir.dashboard.TestBrowser.press;
import static io.weir.dashboard.TestBrowser.tabTo;
import static io.weir.dashboard.TestBrowser.takePicture;
import static io.weir.dashboard.TestBrowser.usePhone;
import static io.weir.dashboard.TestBrowser.useScheme;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;

/** The page with many backends, as cards or as a table. */
class DashboardTableIT extends PageInBrowser {

    private static final String LONG_NAME = "recommendations-partner-integration-europe-west-batch-import-v2";

    private static boolean isTable() {
        return browser().findElement(By.id("table")).isDisplayed();
    }

    /** The backends from top to bottom, as cards or rows. */
    private static String order() {
        return evaluate(
                "return [...document.querySelectorAll('#cards > .card, .group')]"
                        + ".map(node => node.dataset.backend ?? node.dataset.row).join()",
                String.class);
    }

    private static LiveView.BackendSnapshot opened(String name) {
        return SampleBackends.snapshot(name, new TestViews().breaker("open", 0).view(), 0, 0, null);
    }

    private static LiveView.BackendSnapshot full(String name) {
        return SampleBackends.snapshot(name, new TestViews().calls(10, 0).view(), 0, 5, null);
    }

    private static LiveView.BackendSnapshot busy(String name, double rate) {
        return SampleBackends.snapshot(name, new TestViews().view(), 0, rate, null);
    }

    // ---------------------------------------------------------------- cards or a table

    @ParameterizedTest
    @CsvSource({"9, 1360, false", "10, 1360, true", "3, 390, false", "4, 390, true"})
    void showsATableAsSoonAsTheCardsDoNotFit(int backends, int width, boolean table) {
        if (width == 390) {
            usePhone(844);
        }
        openWithSamples(backends);
        await().until(() -> isTable() == table);
        assertThat(count(".card")).isEqualTo(table ? 0 : backends);
        assertThat(count(".group")).isEqualTo(table ? backends : 0);
        assertThat(browser().findElement(By.id("shown")).getText()).startsWith(backends + " backends, ");
        assertFitsInWidth();
        assertNoBrowserErrors();
    }

    @Test
    void keepsTheOperatorsChoiceOfCardsOrTable() {
        openWithSamples(30);
        assertThat(isTable()).isTrue();
        choose("view", "cards");
        await().until(() -> !isTable());
        assertThat(count(".card")).isEqualTo(30);

        browser().navigate().refresh();
        awaitText("#in-flight", " of 20000");
        assertThat(isTable()).isFalse();
        choose("view", "auto");
        await().until(DashboardTableIT::isTable);
        assertThat(count(".card")).isZero();
        assertNoBrowserErrors();
    }

    @Test
    void opensARowToItsCardByMouseAndKeyboardAndKeepsItOpen() {
        openWithSamples(30);
        // Without the tab stops of the head.
        browser().executeScript("document.getElementById('find').focus()");
        tabTo(".toggle");
        String first = order().split(",", -1)[0];
        assertFocused("[data-row='" + first + "'] .toggle");
        press(Keys.ARROW_DOWN);
        press(Keys.ARROW_DOWN);
        press(Keys.ARROW_UP);
        String second = order().split(",", -1)[1];
        assertFocused("[data-row='" + second + "'] .toggle");
        press(Keys.ENTER);
        WebElement card = browser().findElement(By.cssSelector("[data-backend='" + second + "']"));
        assertThat(card.isDisplayed()).isTrue();
        assertThat(browser().switchTo().activeElement().getDomAttribute("aria-expanded"))
                .isEqualTo("true");

        showSamples(30, 1);
        assertThat(card.isDisplayed()).isTrue();
        assertFocused("[data-row='" + second + "'] .toggle");
        press(Keys.TAB);
        assertThat(browser()
                        .switchTo()
                        .activeElement()
                        .findElement(By.xpath("ancestor::article"))
                        .getDomAttribute("data-backend"))
                .isEqualTo(second);

        // The focus has scrolled to the card's buttons.
        browser().executeScript("scrollTo(0, 0)");
        click("[data-row='" + second + "'] .rate");
        assertThat(count(".card")).isZero();
        click("[data-row='" + first + "'] .toggle");
        assertThat(count(".card")).isEqualTo(1);
        assertThat(count(".toggle[tabindex='0']")).as("tab stops").isEqualTo(1);
        assertNoBrowserErrors();
    }

    @Test
    void findsBackendsByAPartOfTheirName() {
        openWithSamples(30);
        browser().findElement(By.id("find")).sendKeys("-01");
        awaitText("#shown", "10 of 30 shown");
        assertThat(count(".group:not([hidden])")).isEqualTo(10);
        showSamples(30, 1);
        assertThat(count(".group:not([hidden])")).isEqualTo(10);
        assertNoBrowserErrors();
    }

    @Test
    void cutsALongNameAndShowsItInATooltip() {
        usePhone(844);
        page.show(
                0,
                Stream.of("a", "b", "c", LONG_NAME).map(PageInBrowser::calm).toList(),
                Map.of(),
                List.of(),
                List.of());
        open(page.port());
        awaitText(".toggle .text", "recommendations");
        String toggle = "document.querySelector(\"[data-row='" + LONG_NAME + "'] .toggle\")";
        assertThat(evaluate(
                        "const text = " + toggle + ".firstElementChild; return text.scrollWidth > text.clientWidth"
                                + " && getComputedStyle(text).textOverflow === 'ellipsis'",
                        Boolean.class))
                .isTrue();
        assertThat(evaluate("return " + toggle + ".title", String.class)).startsWith(LONG_NAME);
        assertFitsInWidth();

        choose("view", "cards");
        String heading = "[data-backend='" + LONG_NAME + "'] h2";
        await().until(() -> count(heading) == 1);
        assertThat(browser().findElement(By.cssSelector(heading)).getDomAttribute("title"))
                .isEqualTo(LONG_NAME);
        assertFitsInWidth();
        choose("view", "auto");
    }

    // ---------------------------------------------------------------- the order

    @Test
    void putsTroubleOnTopAtOnceAndTakesItBackOnlyAfterAHold() {
        page.show(0, List.of(calm("a"), calm("b"), calm("c")), Map.of(), List.of(), List.of());
        open(page.port());
        awaitText("#in-flight", " of 20000");
        assertThat(order()).isEqualTo("a,b,c");
        show(1, calm("a"), calm("b"), opened("c"));
        assertThat(order()).isEqualTo("c,a,b");
        show(2, calm("a"), calm("b"), calm("c"));
        assertThat(order()).isEqualTo("c,a,b");
        show(5, calm("a"), calm("b"), calm("c"));
        assertThat(order()).isEqualTo("c,a,b");
        show(6, calm("a"), calm("b"), calm("c"));
        assertThat(order()).isEqualTo("a,b,c");

        // A limit that is reached in every second snapshot does not let its row jump.
        for (int second = 10; second < 16; second += 2) {
            show(second, calm("a"), full("b"), calm("c"));
            assertThat(order()).isEqualTo("b,a,c");
            show(second + 1, calm("a"), calm("b"), calm("c"));
            assertThat(order()).isEqualTo("b,a,c");
        }
        // More trouble ranks above a row that is held.
        show(16, calm("a"), calm("b"), opened("c"));
        assertThat(order()).isEqualTo("c,b,a");
        assertNoBrowserErrors();
    }

    @Test
    void ordersByTrafficWithoutJumpsOfRowsWithAboutTheSame() {
        page.show(0, List.of(busy("a", 100), busy("b", 1_000), busy("c", 102)), Map.of(), List.of(), List.of());
        open(page.port());
        awaitText("#in-flight", " of 20000");
        choose("order", "traffic");
        await().until(() -> order().equals("b,a,c"));
        show(1, busy("a", 98), busy("b", 1_100), busy("c", 112));
        show(2, busy("a", 104), busy("b", 900), busy("c", 95));
        assertThat(order()).isEqualTo("b,a,c");
        show(3, busy("a", 104), busy("b", 10), busy("c", 300));
        assertThat(order()).isEqualTo("c,a,b");
    }

    // ---------------------------------------------------------------- two hundred backends

    /** The times and sizes are reported, not asserted: they depend on the machine. */
    @Test
    void refreshesTwoHundredRowsInPlaceAndDrawsOnlyTheGraphsInView(TestReporter reporter) {
        openWithSamples(200);
        await().until(() -> count(".row .line[d]") > 5);
        reporter.publishEntry("event-bytes", page.sizes()[0] + " plain, " + page.sizes()[1] + " compressed");
        reporter.publishEntry("first-draw-ms", drawMillis());
        browser().executeScript("""
                window.rebuilt = 0;
                const elements = (nodes) => [...nodes].filter((node) => node.nodeType === 1).length;
                new MutationObserver((changes) => changes.forEach(({ addedNodes, removedNodes }) => {
                  window.rebuilt += elements(addedNodes) + elements(removedNodes);
                })).observe(document.getElementById('rows'), { childList: true, subtree: true });
                """);
        String before = order();
        for (int second = 1; second <= 3; second++) {
            showSamples(200, second);
            reporter.publishEntry("draw-ms", drawMillis());
        }

        assertThat(order()).isEqualTo(before);
        assertThat(evaluate("return window.rebuilt", Long.class))
                .as("elements that were added, removed or moved")
                .isZero();
        assertThat(count(".row .line[d]")).as("graphs").isLessThan(80);
        // A row that comes into view is drawn.
        browser().executeScript("document.querySelector('.group:last-child').scrollIntoView()");
        await().until(() -> count(".group:last-child .line[d]") == 1);
        assertThat(browser().getTitle()).isEqualTo("(8) Weir");
        assertThat(browser().findElement(By.id("shown")).getText()).isEqualTo("200 backends, 8 in trouble");
        assertNoBrowserErrors();
    }

    private static String drawMillis() {
        return evaluate("return performance.getEntriesByName('draw')[0].duration.toFixed(1)", String.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"light", "dark"})
    void hasReadableContrastInTheTable(String scheme) {
        useScheme(scheme);
        openWithSamples(60);
        click("[data-row='backend-013'] .toggle");
        awaitText("[data-backend='backend-013'] .changes", "calls queued inside the backend");
        assertThat(faintTexts()).isEmpty();
    }

    // ---------------------------------------------------------------- pictures

    /**
     * Takes pictures of made-up backends, to look at, and reports the cost of a refresh: {@code
     * -Dpictures=DIRECTORY}.
     */
    @ParameterizedTest
    @ValueSource(ints = {5, 30, 200})
    @EnabledIfSystemProperty(named = "pictures", matches = ".+")
    void takesPicturesOfMadeUpBackends(int backends, TestReporter reporter) throws IOException {
        openWithSamples(backends);
        await().until(() -> count(".line[d]") > 0);
        takePicture("made-up-" + backends + ".png");
        reporter.publishEntry("refresh-ms", refreshMillis(backends));
        if (backends > 5) {
            click("[data-row='backend-013'] .toggle");
            takePicture("made-up-" + backends + "-open.png");
            click("[data-row='backend-013'] .toggle");
        } else {
            browser().executeScript("scrollTo(0, 300)");
            takePicture("made-up-" + backends + "-below.png");
        }
        usePhone(1_400);
        showSamples(backends, 1);
        takePicture("made-up-" + backends + "-phone.png");
    }

    /** Twenty refreshes: the mean time of style and layout, and the time of each draw. */
    private String refreshMillis(int backends) {
        browser().executeCdpCommand("Performance.enable", Map.of());
        showSamples(backends, 1);
        double style = metric("RecalcStyleDuration");
        double layout = metric("LayoutDuration");
        List<String> draws = new ArrayList<>();
        for (int second = 2; second < 22; second++) {
            showSamples(backends, second);
            draws.add(drawMillis());
        }
        return "style %.1f, layout %.1f, draws %s"
                .formatted(
                        50 * (metric("RecalcStyleDuration") - style), 50 * (metric("LayoutDuration") - layout), draws);
    }

    private static double metric(String name) {
        Object metrics =
                browser().executeCdpCommand("Performance.getMetrics", Map.of()).get("metrics");
        return ((List<?>) Objects.requireNonNull(metrics))
                .stream()
                        .map(Map.class::cast)
                        .filter(metric -> name.equals(metric.get("name")))
                        .mapToDouble(metric -> ((Number) Objects.requireNonNull(metric.get("value"))).doubleValue())
                        .sum();
    }
}
