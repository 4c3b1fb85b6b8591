package io.weir.dashboard;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.weir.engine.ExchangeOutcomes;
import io.weir.management.ConfigurationState;
import io.weir.management.FaultView;
import io.weir.management.GatewayView;
import io.weir.management.RecentEvents;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * Serves the dashboard's files, with the gateway's content security policy, and a stream of snapshots that a
 * test makes: of any number of backends, with names and states that a gateway seldom or never has.
 */
final class PageServer implements AutoCloseable {

    private static final JsonMapper JSON = LiveJson.mapper();

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Set<BlockingQueue<byte[]>> viewers = ConcurrentHashMap.newKeySet();
    private final List<String> fleetRequests = new CopyOnWriteArrayList<>();
    private volatile byte[] full = {};
    /** The answer of {@code /actuator/weirfleet}, a list of gateways. */
    private volatile byte[] fleet = {};

    private int replicas = 1;
    private int shown;

    PageServer() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        file("/dashboard", "dashboard.html", "text/html");
        file("/dashboard/dashboard.css", "dashboard.css", "text/css");
        DashboardConfiguration.SCRIPTS.forEach(script -> file("/dashboard/" + script, script, "text/javascript"));
        server.createContext("/actuator/weirstream", this::stream);
        server.createContext("/actuator/weirfleet", this::fleet);
        server.createContext("/actuator/weir/", this::refuse);
        server.start();
    }

    int port() {
        return server.getAddress().getPort();
    }

    /**
     * Shows a snapshot, to present and future viewers.
     *
     * @param atSeconds the time on the gateway's clock
     * @return the requests in flight by which the page shows this snapshot; see {@link #shownBy}
     */
    int show(
            long atSeconds,
            List<LiveView.BackendSnapshot> backends,
            Map<String, LiveView.History> history,
            List<RecentEvents.Event> events,
            List<FaultView> faults) {
        LiveView view = new LiveView(
                1_000 * atSeconds,
                0,
                SlidingWindow.SECONDS,
                new GatewayView.Status("serving", ++shown, 20_000, 0, 18_000, 0, 0.2, 12, false),
                replicas,
                backends,
                events,
                faults,
                new ConfigurationState("0123456789ab", 0),
                null,
                null,
                null);
        full = event("full", view.withHistory(vocabulary(), history));
        byte[] snapshot = event("snapshot", view);
        viewers.forEach(viewer -> viewer.add(snapshot));
        return shown;
    }

    /** Sends an event that is no snapshot to present viewers. */
    void sendInvalid() {
        byte[] invalid = "event: snapshot\ndata: no JSON\n\n".getBytes(StandardCharsets.UTF_8);
        viewers.forEach(viewer -> viewer.add(invalid));
    }

    /** Shows several gateways from the next snapshot on. */
    void showFleet(int gateways, String answer) {
        replicas = gateways;
        fleet = answer.getBytes(StandardCharsets.UTF_8);
    }

    /** The requests that concern all gateways, with their bodies. */
    List<String> fleetRequests() {
        return fleetRequests;
    }

    /** The text of the page's figure of requests in flight once a snapshot is shown. */
    static String shownBy(int snapshot) {
        return snapshot + " of 20000";
    }

    /** The bytes of an event, as the gateway sends them. */
    static byte[] event(String name, LiveView view) {
        try (EventFrames frames = new EventFrames()) {
            return frames.named(name, JSON.writeValueAsBytes(view)).bytes(false);
        }
    }

    /** The size of the last snapshot as a viewer's first event: plain, and compressed as by the gateway. */
    int[] sizes() {
        String text = new String(full, StandardCharsets.UTF_8);
        byte[] data = text.substring(text.indexOf("data: ") + "data: ".length())
                .strip()
                .getBytes(StandardCharsets.UTF_8);
        try (EventFrames frames = new EventFrames()) {
            return new int[] {full.length, frames.named("full", data).bytes(true).length};
        }
    }

    private static Map<String, ExchangeOutcomes.Kind> vocabulary() {
        Map<String, ExchangeOutcomes.Kind> kinds = new LinkedHashMap<>();
        for (int i = 0; i < ExchangeOutcomes.words().size(); i++) {
            kinds.put(ExchangeOutcomes.words().get(i), ExchangeOutcomes.kind(i));
        }
        return kinds;
    }

    private void file(String path, String resource, String type) {
        byte[] content = DashboardFile.read(resource)
                .replace(DashboardFile.ENDPOINTS, "actuator")
                .getBytes(StandardCharsets.UTF_8);
        server.createContext(path, exchange -> {
            exchange.getResponseHeaders().set("Content-Type", type + ";charset=UTF-8");
            exchange.getResponseHeaders().set("Content-Security-Policy", DashboardFile.POLICY);
            exchange.sendResponseHeaders(200, content.length);
            try (OutputStream body = exchange.getResponseBody()) {
                body.write(content);
            }
        });
    }

    private void fleet(HttpExchange exchange) throws IOException {
        fleetRequests.add(exchange.getRequestMethod() + ' ' + exchange.getRequestURI());
        exchange.sendResponseHeaders(200, fleet.length);
        try (OutputStream body = exchange.getResponseBody()) {
            body.write(fleet);
        }
    }

    /** Answers as a gateway whose change another one has not taken. */
    private void refuse(HttpExchange exchange) throws IOException {
        String change = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        fleetRequests.add(exchange.getRequestMethod() + ' ' + exchange.getRequestURI() + ' ' + change);
        byte[] answer =
                "{\"status\":502,\"detail\":\"1 of 3 gateways did not confirm\"}".getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(502, answer.length);
        try (OutputStream body = exchange.getResponseBody()) {
            body.write(answer);
        }
    }

    private void stream(HttpExchange exchange) throws IOException {
        BlockingQueue<byte[]> events = new LinkedBlockingQueue<>();
        events.add(full);
        viewers.add(events);
        exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
        exchange.sendResponseHeaders(200, 0);
        try (OutputStream body = exchange.getResponseBody()) {
            for (byte[] next = take(events); next != null; next = take(events)) {
                body.write(next);
                body.flush();
            }
        } finally {
            viewers.remove(events);
        }
    }

    /** The next event; null: the server ends. */
    private static byte @Nullable [] take(BlockingQueue<byte[]> events) {
        try {
            return events.take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
