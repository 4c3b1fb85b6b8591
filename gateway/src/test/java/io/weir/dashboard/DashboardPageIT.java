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
import static io.weir.dashboard.TestBrowser.useDesktop;
import static io.weir.dashboard.TestBrowser.usePhone;
import static io.weir.dashboard.TestBrowser.useScheme;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.management.FaultView;
import io.weir.management.RecentEvents;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.interactions.Actions;

/**
 * The page with many backends, and with names and states that are hard to produce: Chromium draws the
 * snapshots of a {@link PageServer}, without a gateway.
 */
@Timeout(60)
class DashboardPageIT {

    private static final String LONG_NAME = "recommendations-partner-integration-europe-west-batch-import-v2";

    @TempDir
    static Path profile;

    private final PageServer page = new PageServer();

    @BeforeAll
    static void startBrowser() {
        Awaitility.setDefaultTimeout(Duration.ofSeconds(20));
        Awaitility.setDefaultPollDelay(Duration.ZERO);
        Awaitility.setDefaultPollInterval(Duration.ofMillis(5));
        TestBrowser.start(profile);
    }

    @AfterAll
    static void stopBrowser() {
        TestBrowser.stop();
    }

    @AfterEach
    void closePage() {
        useDesktop();
        page.close();
    }

    private void show(long second, LiveView.BackendSnapshot... backends) {
        awaitShown(page.show(second, List.of(backends), Map.of(), List.of(), List.of()));
    }

    private void showSamples(int count, long second) {
        awaitShown(page.show(
                second,
                SampleBackends.snapshots(count, second),
                SampleBackends.histories(count),
                List.of(),
                List.of()));
    }

    /** Opens the page with made-up backends. */
    private void openWithSamples(int count) {
        page.show(0, SampleBackends.snapshots(count, 0), SampleBackends.histories(count), List.of(), List.of());
        open(page.port());
        awaitText("#in-flight", " of 20000");
    }

    private static void awaitShown(int snapshot) {
        await().until(() -> evaluate("return document.getElementById('in-flight').textContent", String.class)
                .equals(PageServer.shownBy(snapshot)));
    }

    private static LiveView.BackendSnapshot calm(String name) {
        return SampleBackends.snapshot(name, new TestViews().view(), 0, 5, null);
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

    private static void choose(String id, String value) {
        click("#" + id + " option[value=" + value + ']');
    }

    private static boolean isTable() {
        return browser().findElement(By.id("table")).isDisplayed();
    }

    private static long count(String selector) {
        return evaluate("return document.querySelectorAll(\"" + selector + "\").length", Long.class);
    }

    /** The backends from top to bottom, as cards or rows. */
    private static String order() {
        return evaluate(
                "return [...document.querySelectorAll('#cards > .card, .group')]"
                        + ".map(node => node.dataset.backend ?? node.dataset.row).join()",
                String.class);
    }

    // ---------------------------------------------------------------- all gateways

    private static final String FLEET = """
            { "configurationDiffers": true, "gateways": [
              { "address": "10.0.0.5", "self": true, "version": "0.1.0", "startedAt": "2026-01-01T00:00:00Z",
                "phase": "serving", "configuration": { "hash": "aaaaaaaaaaaa", "operatorValues": 0 },
                "backends": [ %1$s ] },
              { "address": "10.0.0.10", "self": false, "version": "0.1.0", "startedAt": "2026-01-01T00:00:00Z",
                "phase": "serving", "configuration": { "hash": "bbbbbbbbbbbb", "operatorValues": 2 },
                "backends": [ %1$s ] },
              { "address": "10.0.0.7", "self": false, "problem": "connection refused" },
              { "address": "10.0.0.6", "self": false, "version": "0.1.0", "startedAt": "2026-01-01T00:00:00Z",
                "phase": "serving", "configuration": { "hash": "aaaaaaaaaaaa", "operatorValues": 0 },
                "backends": [ %1$s, { "name": "payments", "state": "open", "trouble": "open", "score": 80,
                  "limit": 8, "inFlight": 0, "answersPerSecond": 0 } ] } ] }
            """.formatted("""
            { "name": "orders", "state": "closed", "trouble": "calm", "score": 0, "limit": 8, "inFlight": 3,
              "answersPerSecond": 12.5 }""");

    @Test
    void showsNoGatewaysIfThereIsOne() {
        openWithSamples(3);

        assertThat(browser().findElement(By.id("fleet")).isDisplayed()).isFalse();
        assertThat(page.fleetRequests()).isEmpty();
        click("[data-action=open]");
        assertThat(browser().findElement(By.id("ask-fleet")).isDisplayed()).isFalse();
        assertNoBrowserErrors();
    }

    @ParameterizedTest
    @ValueSource(ints = {1360, 390})
    void showsAllGatewaysTroubleFirst(int width) {
        if (width == 390) {
            usePhone(844);
        }
        page.showFleet(4, FLEET);
        openWithSamples(3);

        awaitText("#fleet-note", "4 gateways, 1 not reached, their configurations differ");
        assertThat(browser().findElements(By.cssSelector("#fleet-rows th")))
                .extracting(WebElement::getText)
                .containsExactly("10.0.0.7", "10.0.0.6", "10.0.0.10", "10.0.0.5 this gateway");
        assertThat(browser().findElements(By.cssSelector("#fleet-rows .pill")))
                .extracting(WebElement::getText)
                .containsExactly("not reached", "open", "calm", "calm");
        assertThat(browser().findElement(By.cssSelector("#fleet-rows .problem")).getText())
                .isEqualTo("connection refused");
        assertThat(browser().findElements(By.cssSelector("#fleet-rows .backends-of")))
                .extracting(WebElement::getText)
                .containsExactly("payments: open, 1 calm", "1 calm", "1 calm");
        assertThat(browser().findElements(By.cssSelector("#fleet-rows .hash")))
                .extracting(WebElement::getText)
                .containsExactly("aaaaaaaaaaaa", "bbbbbbbbbbbb, differs, 2 changed", "aaaaaaaaaaaa");
        assertFitsInWidth();
        for (String scheme : List.of("light", "dark")) {
            useScheme(scheme);
            assertThat(faintTexts()).as(scheme).isEmpty();
        }
        assertNoBrowserErrors();
    }

    @Test
    void sendsAChangeToAllGatewaysIfAskedTo() {
        page.showFleet(4, FLEET);
        openWithSamples(3);
        awaitText("#fleet-note", "4 gateways");

        click("[data-action=open]");
        click("#ask-all");
        click("#ask-yes");

        awaitText("#message", "was not changed on all gateways: 1 of 3 gateways did not confirm");
        assertThat(page.fleetRequests())
                .filteredOn(request -> request.startsWith("POST"))
                .singleElement()
                .asString()
                .endsWith("?fleet=true {\"breaker\":\"open\"}");
        // The next question is about this gateway again.
        click("[data-action=open]");
        assertThat(browser().findElement(By.id("ask-all")).isSelected()).isFalse();
        assertNoBrowserErrors();
    }

    @Test
    void saysWhyTheStateOfTheGatewaysIsNotKnown() {
        page.showFleet(4, "no JSON");
        openWithSamples(3);

        awaitText("#fleet-note", "The state of the gateways is not known: ");
        assertNoBrowserErrors();
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
        await().until(DashboardPageIT::isTable);
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
                Stream.of("a", "b", "c", LONG_NAME).map(DashboardPageIT::calm).toList(),
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

    // ---------------------------------------------------------------- names

    /** Neither the configuration nor the gateway lets such a name in; the page does not rely on that. */
    @Test
    void showsAHostileNameAsText() {
        String image = "<img src=x onerror=\"window.hacked = 1\">";
        String quote = "\"'><script>window.hacked = 2</script>${window.hacked = 3}";
        LiveView.BackendSnapshot hostile = SampleBackends.snapshot(
                image,
                new TestViews()
                        .uri(quote)
                        .breaker("open", 0)
                        .instances(List.of(TestViews.instance(image, quote), TestViews.instance(quote, "open")))
                        .view(),
                1,
                5,
                quote);
        RecentEvents.Event event =
                new RecentEvents.Event(1, Instant.EPOCH, RecentEvents.Kind.BREAKER_OPENED, quote, image + quote, image);
        FaultView fault = new FaultView(
                1,
                image,
                quote,
                null,
                image,
                null,
                100,
                null,
                null,
                null,
                null,
                null,
                1,
                "2026-01-01T00:00:00Z",
                "2026-01-01T00:10:00Z",
                quote);
        page.show(
                0,
                List.of(hostile, calm(quote), calm("c"), calm("d")),
                Map.of(image, SampleBackends.history(Map.of(60, Map.entry(12, quote)))),
                List.of(event),
                List.of(fault));
        open(page.port());
        awaitText("#cards h2", image);
        awaitText("#recent-events", image + quote);
        awaitText("#cards .cells", quote);
        awaitText("#cards .changes", quote);
        browser().findElements(By.cssSelector("[data-action=open]")).getFirst().click();
        awaitText("#ask", image);
        click("#ask-no");
        choose("view", "table");
        awaitText(".toggle .text", image);
        awaitText(".toggle .text", quote);
        browser().findElements(By.cssSelector(".toggle")).forEach(WebElement::click);
        awaitText(".detail h2", quote);
        browser().findElement(By.id("find")).sendKeys(image);
        awaitText("#shown", "1 of 4 shown");

        assertThat(count("body img, body script, main [onerror]")).isZero();
        assertThat(evaluate("return String(window.hacked)", String.class)).isEqualTo("undefined");
        choose("view", "auto");
        assertNoBrowserErrors();
    }

    // ---------------------------------------------------------------- the limit

    @Test
    void tellsWhenAndWhyTheLimitMoved() {
        LiveView.History history = SampleBackends.history(Map.of(
                20, Map.entry(10, "growth"),
                26, Map.entry(13, "growth"),
                30, Map.entry(6, "probe"),
                31, Map.entry(13, "probe"),
                60, Map.entry(9, "queueing"),
                99, Map.entry(4, "operator")));
        LiveView.BackendSnapshot orders = SampleBackends.snapshot(
                "orders", new TestViews().auto(4, 2, 100, 0).view(), 0, 5, null);
        page.show(0, List.of(orders), Map.of("orders", history), List.of(), List.of());
        open(page.port());
        awaitText(".changes", "by an operator");
        assertThat(browser().findElements(By.cssSelector(".changes li")))
                .extracting(WebElement::getText)
                .containsExactly(
                        "▼ 9 → 4, 20 s ago: by an operator",
                        "▼ 13 → 9, 59 s ago: calls queued inside the backend",
                        "▲ 8 → 13 in 2 steps, 93 s ago: calls waited, and the backend did not slow down");
        await().until(() -> drawn(".lowered").equals("M60,0V40M99,0V40"));
        assertThat(drawn(".raised")).isEqualTo("M20,0V40M26,0V40");
        assertThat(drawn(".measured")).isEqualTo("M30,0V40M31,0V40");
        assertThat(drawn(".line"))
                .startsWith("M0,")
                .contains("H20V", "H60V", "H99V")
                .endsWith("H119");
        assertThat(browser().findElement(By.cssSelector(".readout")).getText())
                .isEqualTo("2 min ago to now; height 13");

        WebElement graph = browser().findElement(By.cssSelector(".plot .spark"));
        int toSecond60 = Math.round(graph.getSize().getWidth() * (60 / 119f - 0.5f));
        new Actions(browser()).moveToElement(graph, toSecond60, 0).perform();
        awaitText(".readout", "59 s ago: limit 9, 5 in flight; calls queued inside the backend");

        // The next second moves everything, and adds its own change.
        LiveView.BackendSnapshot raised = SampleBackends.snapshot(
                "orders", new TestViews().auto(6, 2, 100, 0).view(), 0, 5, "recovery");
        show(1, raised);
        assertThat(browser().findElement(By.cssSelector(".changes li")).getText())
                .isEqualTo("▲ 4 → 6, just now: the backend answers again");
        assertNoBrowserErrors();
    }

    private static String drawn(String mark) {
        return evaluate("return document.querySelector('.plot " + mark + "').getAttribute('d') ?? ''", String.class);
    }

    @Test
    void advisesALimitOnlyIfTheGatewayHasEnoughTraffic() {
        page.show(
                0,
                List.of(
                        SampleBackends.snapshot(
                                "idle", new TestViews().arriving(0.1, 0).view(), 0, 0.1, null),
                        SampleBackends.snapshot(
                                "used", new TestViews().arriving(120, 14).view(), 0, 120, null)),
                Map.of(),
                List.of(),
                List.of());
        open(page.port());
        awaitText("[data-backend=used] .reason", "Fixed by the configuration. The present calls need 14.");
        assertThat(browser()
                        .findElement(By.cssSelector("[data-backend=idle] .reason"))
                        .getText())
                .isEqualTo("Fixed by the configuration.");
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
