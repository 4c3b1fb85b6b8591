package io.weir.dashboard;

import static io.weir.dashboard.TestBrowser.awaitText;
import static io.weir.dashboard.TestBrowser.click;
import static io.weir.dashboard.TestBrowser.evaluate;
import static io.weir.dashboard.TestBrowser.open;
import static io.weir.dashboard.TestBrowser.useDesktop;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of the page with snapshots that are hard to produce: Chromium draws the snapshots of a
 * {@link PageServer}, without a gateway.
 */
@Tag("full")
abstract class PageInBrowser {

    @TempDir
    static Path profile;

    final PageServer page = new PageServer();

    @BeforeAll
    static void startBrowser() {
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

    void show(long second, LiveView.BackendSnapshot... backends) {
        awaitShown(page.show(second, List.of(backends), Map.of(), List.of(), List.of()));
    }

    void showSamples(int count, long second) {
        awaitShown(page.show(
                second,
                SampleBackends.snapshots(count, second),
                SampleBackends.histories(count),
                List.of(),
                List.of()));
    }

    /** Opens the page with made-up backends. */
    void openWithSamples(int count) {
        page.show(0, SampleBackends.snapshots(count, 0), SampleBackends.histories(count), List.of(), List.of());
        open(page.port());
        awaitText("#in-flight", " of 20000");
    }

    private static void awaitShown(int snapshot) {
        await().until(() -> evaluate("return document.getElementById('in-flight').textContent", String.class)
                .equals(PageServer.shownBy(snapshot)));
    }

    static LiveView.BackendSnapshot calm(String name) {
        return SampleBackends.snapshot(name, new TestViews().view(), 0, 5, null);
    }

    static void choose(String id, String value) {
        click("#" + id + " option[value=" + value + ']');
    }

    static long count(String selector) {
        return evaluate("return document.querySelectorAll(\"" + selector + "\").length", Long.class);
    }
}
