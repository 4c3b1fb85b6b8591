package io.weir.dashboard;

import static io.weir.dashboard.TestBrowser.browser;
import static io.weir.dashboard.TestBrowser.evaluate;

import io.weir.reload.ConfigurationChange;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.openqa.selenium.By;

/** A gateway for the tests of the dashboard, and the cards of its backends in the browser. */
final class TestDashboard {

    private static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private TestDashboard() {}

    static TestGateway.Setup setup(TestBackend backend) {
        return TestGateway.setup()
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 800ms",
                        "circuit-breaker: { slow-call-duration-threshold: 400ms }",
                        "bulkhead: { max-concurrent-calls: 7 }")
                .route("orders", "orders");
    }

    /** Reloads the gateway's file, as an operator does. */
    static ConfigurationChange reload(TestGateway gateway) {
        return gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "an operator");
    }

    static String card(String name) {
        return "[data-backend='" + name + "']";
    }

    static String limitOf(String name) {
        return browser()
                .findElement(By.cssSelector(card(name) + " .limit p"))
                .getText()
                .replaceAll("\\s+", " ");
    }

    static String text(String name) {
        return evaluate("return " + part(name, "") + ".innerText", String.class);
    }

    static String drawn(String name, String selector) {
        return evaluate("return " + part(name, selector) + ".getAttribute('d')", String.class);
    }

    /** A script that selects a part of a backend's card. */
    static String part(String name, String selector) {
        return "document.querySelector(\"" + card(name) + ' ' + selector + "\")";
    }

    /** Sends a change of backend {@code orders}, and returns the status of the answer. */
    static int post(TestGateway to, String body, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create("http://127.0.0.1:" + to.managementPort() + "/actuator/weir/orders"))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return CLIENT.send(request.build(), HttpResponse.BodyHandlers.discarding())
                .statusCode();
    }
}
