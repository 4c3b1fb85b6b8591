package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.logging.Level;
import org.jspecify.annotations.Nullable;
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
 * Debian's Chromium with its driver, for the tests of one class. The tests are skipped if they are not
 * installed, unless {@code -Dbrowser=required}.
 */
final class TestBrowser {

    private static final Path CHROMIUM = Path.of("/usr/bin/chromium");
    private static final Path DRIVER = Path.of("/usr/bin/chromedriver");

    private static @Nullable ChromeDriver started;

    private TestBrowser() {}

    /** Starts the browser. */
    static void start(Path profile) {
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

    /** Ends the browser, if it was started. */
    static void stop() {
        if (started != null) {
            started.quit();
            started = null;
        }
    }

    static ChromeDriver browser() {
        ChromeDriver browser = started;
        if (browser == null) {
            throw new IllegalStateException("browser not started");
        }
        return browser;
    }

    /** Opens the dashboard at a management port. */
    static void open(int port) {
        browser().get("http://127.0.0.1:" + port + "/dashboard");
    }

    static void awaitLive() {
        awaitText("#connection", "Live");
    }

    static void awaitText(String selector, String text) {
        await().ignoreException(StaleElementReferenceException.class)
                .untilAsserted(() -> assertThat(browser().findElements(By.cssSelector(selector)))
                        .extracting(WebElement::getText)
                        .anySatisfy(shown -> assertThat(shown).contains(text)));
    }

    static void click(String selector) {
        browser().findElement(By.cssSelector(selector)).click();
    }

    /** The result of a script in the page. */
    static <T> T evaluate(String script, Class<T> type) {
        return type.cast(Objects.requireNonNull(browser().executeScript(script), script));
    }

    /**
     * No violation of the content security policy, and no failed script; failed requests to the gateway are
     * ignored.
     */
    static void assertNoBrowserErrors() {
        assertThat(browser().manage().logs().get(LogType.BROWSER).getAll())
                .filteredOn(entry -> !entry.getMessage().contains("ERR_")
                        && !entry.getMessage().contains("Failed to load resource"))
                .isEmpty();
    }

    // ---------------------------------------------------------------- the keyboard

    /** Presses the tab key until this control has the focus. */
    static void tabTo(String selector) {
        List<String> passed = new ArrayList<>();
        while (!isFocused(selector)) {
            passed.add(browser().switchTo().activeElement().getTagName());
            assertThat(passed).as("controls passed before %s", selector).hasSizeLessThan(60);
            press(Keys.TAB);
        }
    }

    static boolean isFocused(String selector) {
        return evaluate("return document.activeElement.matches(\"" + selector + "\")", Boolean.class);
    }

    static void assertFocused(String selector) {
        assertThat(isFocused(selector)).as("%s has the focus", selector).isTrue();
    }

    static void press(CharSequence key) {
        new Actions(browser()).sendKeys(key).perform();
    }

    // ---------------------------------------------------------------- the screen

    /** Sets the colour scheme of the system: {@code light} or {@code dark}. */
    static void useScheme(String scheme) {
        browser()
                .executeCdpCommand(
                        "Emulation.setEmulatedMedia",
                        Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
    }

    /** Makes the browser a phone of 390 pixels in width. */
    static void usePhone(int height) {
        browser()
                .executeCdpCommand(
                        "Emulation.setDeviceMetricsOverride",
                        Map.of("width", 390, "height", height, "deviceScaleFactor", 1, "mobile", true));
    }

    /** Ends the effects of {@link #useScheme} and {@link #usePhone}. */
    static void useDesktop() {
        browser().executeCdpCommand("Emulation.setEmulatedMedia", Map.of("features", List.of()));
        browser().executeCdpCommand("Emulation.clearDeviceMetricsOverride", Map.of());
    }

    /** The page does not scroll sideways. */
    static void assertFitsInWidth() {
        assertThat(evaluate("return document.documentElement.scrollWidth <= window.innerWidth", Boolean.class))
                .isTrue();
    }

    /** The luminance of the page's background; 0 to 1, as defined by WCAG. */
    static double luminance() {
        return evaluate(LUMINANCE + "return luminance(ground(document.body))", Number.class)
                .doubleValue();
    }

    /** The visible texts with a contrast of less than 4.5 to 1, as defined by WCAG. */
    static String faintTexts() {
        return evaluate(LUMINANCE + """
                const faint = [];
                for (const node of document.querySelectorAll('body *')) {
                  const words = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
                  if (!words || !node.checkVisibility() || node.matches('script, option, .skip')) continue;
                  const [one, other] = [luminance(rgb(getComputedStyle(node).color)), luminance(ground(node))];
                  const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
                  if (contrast < 4.5) faint.push(`${node.tagName}.${node.className} ${contrast.toFixed(2)}`);
                }
                return faint.join()
                """, String.class);
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

    /** Writes a picture of the window to the directory of {@code -Dpictures}. */
    static void takePicture(String name) throws IOException {
        Files.write(
                Path.of(System.getProperty("pictures")).resolve(name), browser().getScreenshotAs(OutputType.BYTES));
    }
}
