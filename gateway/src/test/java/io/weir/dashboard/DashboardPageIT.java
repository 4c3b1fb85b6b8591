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
import static io.weir.dashboard.TestBrowser.open;
import static io.weir.dashboard.TestBrowser.press;
import static io.weir.dashboard.TestBrowser.tabTo;
import static io.weir.dashboard.TestBrowser.usePhone;
import static io.weir.dashboard.TestBrowser.useScheme;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.management.BackendView;
import io.weir.management.FaultView;
import io.weir.management.RecentEvents;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;

/** What a card and the table of the gateways show. */
class DashboardPageIT extends PageInBrowser {

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

    // ---------------------------------------------------------------- faults of the page

    @Test
    void reportsAnEventThatItCannotShowAndShowsTheNextOne() {
        openWithSamples(3);
        awaitLive();

        page.sendInvalid();
        int shown = page.show(1, List.of(), Map.of(), List.of(), List.of());

        awaitText("body", PageServer.shownBy(shown));
        assertThat(browser().manage().logs().get(LogType.BROWSER).getAll())
                .extracting(LogEntry::getMessage)
                .anySatisfy(message -> assertThat(message).contains("SyntaxError"));
    }

    // ---------------------------------------------------------------- instances

    @Test
    void drawsFiftyInstancesAsSmallCells() {
        List<BackendView.InstanceView> instances = IntStream.rangeClosed(1, 50)
                .mapToObj(i -> TestViews.instance(
                        "http://10.20.30." + i + ":8080", i == 8 ? "drained" : i == 10 ? "open" : "closed"))
                .toList();
        LiveView.BackendSnapshot replicated = SampleBackends.snapshot(
                "replicated", new TestViews().instances(instances).view(), 0, 5, null);
        page.show(0, List.of(replicated), Map.of(), List.of(), List.of());
        open(page.port());
        awaitText(".instances", "48 of 50 take calls · 1 drained · 1 open");
        awaitText(cell(8), "drained");
        assertThat(evaluate("return document.querySelector('.cells').offsetHeight", Long.class))
                .as("height in pixels")
                .isLessThan(260);
        assertThat(browser().findElement(By.cssSelector(cell(10))).getAccessibleName())
                .contains("10.20.30.10:8080", "open");

        // One tab stop; the arrow keys move between the cells.
        tabTo(cell(1));
        press(Keys.ARROW_RIGHT);
        assertFocused(cell(2));
        press(Keys.ARROW_LEFT);
        press(Keys.ARROW_LEFT);
        assertFocused(cell(50));
        press(Keys.TAB);
        assertThat(isFocused(".cell")).isFalse();
        assertNoBrowserErrors();
    }

    @Test
    void drawsABackupInReserveAndAnInstanceThatIsLeftAlone() {
        String primary = "http://10.20.30.1:8080";
        String backup = "http://10.20.30.2:8080";
        showInstances(0, TestViews.instance(primary, "closed"), TestViews.backup(backup, "closed", null));
        open(page.port());
        awaitText(".instances", "1 of 2 take calls · 1 in reserve");
        awaitText(cell(2), "backup · 0 in flight");

        showInstances(1, TestViews.instance(primary, "open"), TestViews.backup(backup, "closed", 12_000.0));
        awaitText(".instances", "1 of 2 take calls · 1 open");
        awaitText(cell(2), "left alone for 12 s");
        assertThat(browser().findElement(By.cssSelector(cell(2))).getAccessibleName())
                .contains("10.20.30.2:8080: closed, backup", "left alone for 12 s");

        showInstances(2, TestViews.instance(primary, "half-open"), TestViews.backup(backup, "closed", null));
        awaitText(".instances", "2 of 2 take calls · 1 half-open");
        assertNoBrowserErrors();
    }

    private void showInstances(int atSeconds, BackendView.InstanceView... instances) {
        LiveView.BackendSnapshot orders = SampleBackends.snapshot(
                "orders", new TestViews().instances(List.of(instances)).view(), 0, 5, null);
        page.show(atSeconds, List.of(orders), Map.of(), List.of(), List.of());
    }

    private static String cell(int instance) {
        return "[data-instance='http://10.20.30." + instance + ":8080']";
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

    @Test
    void namesARouteThatIsRefusedAlone() {
        page.show(
                0,
                List.of(snapshot("orders", new TestViews().openRoute("orders-search"))),
                Map.of(),
                List.of(),
                List.of());
        open(page.port());
        awaitText(".open-routes", "Route orders-search is open: for a test.");

        show(1, snapshot("orders", new TestViews()));
        assertThat(browser().findElement(By.cssSelector(".open-routes")).isDisplayed())
                .isFalse();
        assertNoBrowserErrors();
    }

    private static LiveView.BackendSnapshot snapshot(String name, TestViews view) {
        return SampleBackends.snapshot(name, view.view(), 0, 5, null);
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
}
