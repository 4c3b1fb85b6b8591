package io.weir.sim;

import io.weir.sim.database.DatabaseLocation;
import io.weir.sim.stack.Stack;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.apache.catalina.connector.Connector;
import org.apache.tomcat.util.threads.ThreadPoolExecutor;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.tomcat.TomcatWebServer;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.testcontainers.postgresql.PostgreSQLContainer;
import org.testcontainers.utility.DockerImageName;

/** A running simulator. Tests call it over its sockets and look into its database. */
public final class Simulator implements AutoCloseable {

    private static final Map<Stack, Simulator> shared = new EnumMap<>(Stack.class);
    private static final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    static {
        // Keeps the database running between tests. It stops with the JVM, or with the Docker given to
        // -Pcontainers.
        if (Boolean.getBoolean("containers")) {
            PostgreSQLContainer postgres = new PostgreSQLContainer(
                    DockerImageName.parse(System.getProperty("image.postgres")).asCompatibleSubstituteFor("postgres"));
            postgres.withDatabaseName("weir").start();
            System.setProperty(
                    "sim.database.url",
                    "postgresql://%s:%d/weir".formatted(postgres.getHost(), postgres.getFirstMappedPort()));
            System.setProperty("sim.database.username", postgres.getUsername());
            System.setProperty("sim.database.password", postgres.getPassword());
        } else {
            run(Stack.POSTGRES);
        }
    }

    private final ConfigurableApplicationContext context;
    private final Stack stack;

    private Simulator(Stack stack, ConfigurableApplicationContext context) {
        this.stack = stack;
        this.context = context;
    }

    /** The stacks with a service, so without POSTGRES. */
    public static List<Stack> stacks() {
        return Stream.concat(stacksOfEachKind().stream(), otherStacks().stream())
                .toList();
    }

    /** Two stacks that together have both servers and both drivers. */
    public static List<Stack> stacksOfEachKind() {
        return List.of(Stack.MVC_JDBC, Stack.WEBFLUX_R2DBC);
    }

    /** The stacks that combine the servers and drivers in another way. */
    public static List<Stack> otherStacks() {
        return List.of(Stack.MVC_JDBC_VIRTUAL, Stack.MVC_R2DBC, Stack.WEBFLUX_JDBC);
    }

    /** Returns the shared simulator, for tests that change only its faults. */
    public static synchronized Simulator of(Stack stack) {
        return shared.computeIfAbsent(
                stack, absent -> start(absent, "--sim.database.pool-size=8", "--sim.database.acquire-timeout=3s"));
    }

    public static Simulator start(Stack stack, String... arguments) {
        return new Simulator(stack, run(stack, arguments));
    }

    private static ConfigurableApplicationContext run(Stack stack, String... arguments) {
        List<String> all = new ArrayList<>(List.of(
                "--sim.stack=" + stack.id(),
                "--server.port=0",
                "--management.server.port=0",
                "--sim.database.pool-minimum=2",
                "--sim.database.state-dir=" + Path.of("target", "postgres").toAbsolutePath(),
                "--logging.level.root=warn"));
        all.addAll(List.of(arguments));
        return SpringApplication.run(SimulatorApplication.class, all.toArray(String[]::new));
    }

    public Stack stack() {
        return stack;
    }

    public int port() {
        return port("local.server.port");
    }

    public int managementPort() {
        return port("local.management.port");
    }

    private int port(String property) {
        return context.getEnvironment().getRequiredProperty(property, Integer.class);
    }

    public HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return http.send(request(port(), path).build(), BodyHandlers.ofString());
    }

    public CompletableFuture<HttpResponse<String>> getAsync(String path) {
        return http.sendAsync(request(port(), path).build(), BodyHandlers.ofString());
    }

    public HttpResponse<String> send(String method, String path, String body) throws IOException, InterruptedException {
        return http.send(json(port(), method, path, body), BodyHandlers.ofString());
    }

    public CompletableFuture<HttpResponse<String>> sendAsync(String method, String path, String body) {
        return http.sendAsync(json(port(), method, path, body), BodyHandlers.ofString());
    }

    public HttpResponse<String> manage(String method, String path, String body)
            throws IOException, InterruptedException {
        return http.send(json(managementPort(), method, path, body), BodyHandlers.ofString());
    }

    private static HttpRequest.Builder request(int port, String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(Patience.PATIENCE);
    }

    private static HttpRequest json(int port, String method, String path, String body) {
        return request(port, path)
                .header("Content-Type", "application/json")
                .method(method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
                .build();
    }

    /** Posts faults, and fails if they are refused. */
    public void fault(String document) throws IOException, InterruptedException {
        HttpResponse<String> answer = manage("PUT", "/faults", document);
        if (answer.statusCode() != 200) {
            throw new AssertionError(answer.body());
        }
    }

    public void heal() throws IOException, InterruptedException {
        manage("DELETE", "/faults", "");
    }

    /** The Prometheus page. It contains the meters of every Tomcat in this JVM. */
    public String prometheus() throws IOException, InterruptedException {
        return manage("GET", "/actuator/prometheus", "").body();
    }

    /** The threads of the Tomcat on the service's port. */
    public ThreadPoolExecutor tomcatThreads() {
        return (ThreadPoolExecutor) tomcatConnector().getProtocolHandler().getExecutor();
    }

    public Connector tomcatConnector() {
        if (((ServletWebServerApplicationContext) context).getWebServer() instanceof TomcatWebServer server) {
            return server.getTomcat().getConnector();
        }
        throw new AssertionError("no Tomcat");
    }

    /** The sum of the meter's samples on the Prometheus page, or -1 if there is none. */
    public double meter(String name, String... tags) throws IOException, InterruptedException {
        double sum = -1;
        for (String line : prometheus().lines().toList()) {
            String head = line.substring(0, Math.max(0, line.lastIndexOf(' ')));
            if ((head.equals(name) || head.startsWith(name + "{"))
                    && List.of(tags).stream().allMatch(head::contains)) {
                sum = Math.max(sum, 0) + Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
            }
        }
        return sum;
    }

    /** Opens a socket and sends a GET request on it. */
    public Socket socket(String path) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port());
        socket.setSoTimeout((int) Patience.PATIENCE.toMillis());
        socket.getOutputStream()
                .write(("GET " + path + " HTTP/1.1\r\nHost: sim\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    /** Queries one number in a separate database session. */
    public long count(String sql, Object... parameters) throws SQLException {
        try (Connection connection = session();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                statement.setObject(i + 1, parameters[i]);
            }
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }

    /** Opens a separate session in the simulator's database. */
    public Connection session() throws SQLException {
        DatabaseLocation location = context.getBean(DatabaseLocation.class);
        return DriverManager.getConnection(location.jdbcUrl("test"), location.username(), location.password());
    }

    public <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    @Override
    public void close() {
        context.close();
    }
}
