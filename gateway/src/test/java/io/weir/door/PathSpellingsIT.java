package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.undertow.Undertow;
import io.undertow.server.HttpHandler;
import io.undertow.server.handlers.CanonicalPathHandler;
import io.undertow.server.handlers.PathHandler;
import io.weir.edge.MalformedTargetException;
import io.weir.edge.RequestTarget;
import io.weir.testing.TestCaller;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.ContextHandler;
import org.eclipse.jetty.server.handler.ContextHandlerCollection;
import org.eclipse.jetty.util.Callback;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.server.PathContainer;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * Spellings of a path that real servers read as {@code /admin}: a route for {@code /admin/**}, with its
 * access rules, must match each of them, or the gateway must refuse it.
 */
@Tag("full")
class PathSpellingsIT {

    private static final String ADMIN = "admin";
    private static final PathPattern ROUTE = PathPatternParser.defaultInstance.parse("/admin/**");

    private static final List<String> BEFORE = List.of(
            "",
            "/",
            "/.",
            "/..",
            "/;",
            "/;x",
            "/;x=1",
            "/.;",
            "/.;x",
            "/..;",
            "/x/..",
            "/x/..;",
            "/x;/..",
            "/x/.;/..",
            "/%2e",
            "/%2e%2e",
            "/x/%2e%2e",
            "/x/.%2e",
            "/%2e;",
            "/%3b",
            "/%3bx",
            "/;%2f",
            "/%2f",
            "/x%2f..",
            "/%5c",
            "/x/;/..",
            "/;/..",
            "/%20",
            "/%252e",
            "/x",
            "/~",
            "/-");

    private static final List<String> NAMES = List.of(
            "admin",
            "admin;",
            "admin;x=1",
            "%61dmin",
            "%2561dmin",
            "ADMIN",
            "admin.",
            "admin%20",
            "admin%2f",
            "admin%3b",
            "admin%3bx",
            ".admin",
            ";admin",
            "%00admin",
            "admin%00",
            "admin%c0%af",
            "a%64min;%2f");

    private static final List<String> AFTER = List.of("/secret", "", "/", ";/secret", "/.;/secret", "/x/../secret");

    /** A server, and how it reads targets. */
    @FunctionalInterface
    private interface Reader {

        /** Those of these targets that the server serves as /admin. */
        List<String> servedAsAdmin(Collection<String> targets) throws Exception;
    }

    private static final Map<String, Reader> READERS = new LinkedHashMap<>();
    /** For the others, {@code ;} is a character as any other. */
    private static final Set<String> KNOW_PARAMETERS = Set.of("Tomcat 9", "Tomcat 11", "Jetty", "Undertow");

    private static final List<AutoCloseable> SERVERS = new ArrayList<>();

    @TempDir
    static Path directory;

    @BeforeAll
    static void start() throws Exception {
        startTomcat();
        startJetty();
        startUndertow();
        Tomcat9 tomcat9 = new Tomcat9(Files.createDirectory(directory.resolve("tomcat-9")), ADMIN);
        SERVERS.add(tomcat9::stop);
        addServer("Tomcat 9", tomcat9.port());
        if (InstalledServers.hasNginx()) {
            addServer("nginx", InstalledServers.startNginx(directory, ADMIN, SERVERS));
        }
        if (InstalledServers.hasPython()) {
            READERS.put("Python", targets -> InstalledServers.servedByPython(directory, targets));
        }
        if (InstalledServers.hasGo()) {
            Path program = InstalledServers.buildGo(directory);
            READERS.put("Go", targets -> InstalledServers.servedByGo(program, directory, targets));
        }
    }

    private static void addServer(String name, int port) {
        READERS.put(name, targets -> servedAsAdmin(port, targets));
    }

    @AfterAll
    static void stop() throws Exception {
        for (AutoCloseable server : SERVERS) {
            server.close();
        }
    }

    // ---------------------------------------------------------------- servers

    private static void startTomcat() throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(directory.toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        Context context = tomcat.addContext("", directory.toString());
        Tomcat.addServlet(context, ADMIN, new NamedServlet(ADMIN)).addMapping("/admin/*");
        Tomcat.addServlet(context, "other", new NamedServlet("other")).addMapping("/*");
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.start();
        addServer("Tomcat 11", tomcat.getConnector().getLocalPort());
        SERVERS.add(() -> {
            tomcat.stop();
            tomcat.destroy();
        });
    }

    private static final class NamedServlet extends HttpServlet {

        private static final long serialVersionUID = 1;
        private final String name;

        NamedServlet(String name) {
            this.name = name;
        }

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.getWriter().write(name);
        }
    }

    private static void startJetty() throws Exception {
        Server jetty = new Server();
        ServerConnector connector = new ServerConnector(jetty);
        connector.setHost("127.0.0.1");
        jetty.addConnector(connector);
        ContextHandler admin = new ContextHandler(new NamedHandler(ADMIN), "/admin");
        admin.setAllowNullPathInContext(true);
        jetty.setHandler(new ContextHandlerCollection(admin, new ContextHandler(new NamedHandler("other"), "/")));
        jetty.start();
        addServer("Jetty", connector.getLocalPort());
        SERVERS.add(jetty::stop);
    }

    private static final class NamedHandler extends Handler.Abstract {

        private final String name;

        NamedHandler(String name) {
            this.name = name;
        }

        @Override
        public boolean handle(Request request, Response response, Callback callback) {
            response.write(true, ByteBuffer.wrap(name.getBytes(StandardCharsets.US_ASCII)), callback);
            return true;
        }
    }

    private static void startUndertow() {
        HttpHandler other = exchange -> exchange.getResponseSender().send("other");
        PathHandler paths = new PathHandler(other)
                .addPrefixPath(
                        "/admin", exchange -> exchange.getResponseSender().send(ADMIN));
        Undertow undertow = Undertow.builder()
                .addHttpListener(0, "127.0.0.1")
                .setHandler(new CanonicalPathHandler(paths))
                .build();
        undertow.start();
        InetSocketAddress address =
                (InetSocketAddress) undertow.getListenerInfo().get(0).getAddress();
        addServer("Undertow", address.getPort());
        SERVERS.add(undertow::stop);
    }

    // ---------------------------------------------------------------- the gateway

    /** The targets that the gateway sends for a spelling, without and with preserve-path. */
    private static Set<String> forwarded(RequestTarget target) {
        Set<String> targets = new LinkedHashSet<>();
        targets.add(BackendTarget.of(target.path(), null));
        try {
            targets.add(BackendTarget.asReceived(target.receivedPath(), null));
        } catch (MalformedTargetException e) {
            // Refused where the path is preserved.
        }
        return targets;
    }

    private static boolean isMatched(RequestTarget target) {
        return ROUTE.matches(PathContainer.parsePath(target.path()));
    }

    private static List<String> spellings() {
        List<String> spellings = new ArrayList<>();
        for (String first : BEFORE) {
            for (String second : BEFORE) {
                for (String name : NAMES) {
                    for (String after : AFTER) {
                        spellings.add(first + second + '/' + name + after);
                    }
                }
            }
        }
        return spellings;
    }

    /** The targets that pass the gateway on another route than that of /admin, each with its spelling. */
    private static Map<String, String> passed() {
        Map<String, String> passed = new LinkedHashMap<>();
        for (String spelling : spellings()) {
            try {
                RequestTarget target = RequestTarget.parse(spelling, false);
                if (!isMatched(target)) {
                    forwarded(target).forEach(sent -> passed.putIfAbsent(sent, spelling));
                }
            } catch (MalformedTargetException e) {
                // Refused.
            }
        }
        return passed;
    }

    // ---------------------------------------------------------------- the table

    /** Those of these targets that a server serves as /admin. */
    private static List<String> servedAsAdmin(int port, Collection<String> targets) throws IOException {
        List<String> served = new ArrayList<>();
        TestCaller caller = TestCaller.to(port);
        try {
            for (String target : targets) {
                TestCaller.Answer answer;
                try {
                    answer = caller.request("GET", target);
                } catch (EOFException | SocketException e) {
                    // The server has closed the connection after its last answer.
                    caller.close();
                    caller = TestCaller.to(port);
                    answer = caller.request("GET", target);
                }
                if (answer.status() == 200 && answer.text().equals(ADMIN)) {
                    served.add(target);
                }
            }
        } finally {
            caller.close();
        }
        return served;
    }

    @Test
    void noServerReadsATargetOfAnotherRouteAsAdmin() throws Exception {
        Map<String, String> passed = passed();
        assertThat(passed).hasSizeGreaterThan(1000);
        Map<String, Future<List<String>>> served = new LinkedHashMap<>();
        try (ExecutorService all = Executors.newVirtualThreadPerTaskExecutor()) {
            READERS.forEach(
                    (name, server) -> served.put(name, all.submit(() -> server.servedAsAdmin(passed.keySet()))));
        }
        List<String> asAdmin = new ArrayList<>();
        for (Map.Entry<String, Future<List<String>>> each : served.entrySet()) {
            for (String target : each.getValue().get()) {
                asAdmin.add(each.getKey() + ": " + passed.get(target) + " as " + target);
            }
        }
        assertThat(asAdmin).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/admin/secret",
                "/admin",
                "/admin;x=1/secret",
                "/%61dmin/secret",
                "//admin/secret",
                "/./admin/secret",
                "/x/../admin/secret"
            })
    void passesUsualSpellingsToTheRouteOfAdmin(String spelling) throws Exception {
        RequestTarget target = RequestTarget.parse(spelling, false);

        assertThat(isMatched(target)).isTrue();
        for (Map.Entry<String, Reader> server : READERS.entrySet()) {
            if (spelling.contains(";") && !KNOW_PARAMETERS.contains(server.getKey())) {
                continue;
            }
            assertThat(server.getValue().servedAsAdmin(List.of(BackendTarget.of(target.path(), null))))
                    .as(server.getKey())
                    .hasSize(1);
        }
    }
}
