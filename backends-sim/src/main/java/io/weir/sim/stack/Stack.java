package io.weir.sim.stack;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.springframework.boot.WebApplicationType;
import org.springframework.util.ClassUtils;

/** The stacks that the simulator offers. {@link #id()} is the value of the property {@code sim.stack}. */
public enum Stack {
    /** Spring MVC on Tomcat's platform threads, JDBC through HikariCP. */
    MVC_JDBC(ServerType.SERVLET, DriverType.JDBC, false),
    /** The same with a virtual thread for every request. */
    MVC_JDBC_VIRTUAL(ServerType.SERVLET, DriverType.JDBC, true),
    /** Spring MVC on Tomcat, R2DBC through r2dbc-pool. */
    MVC_R2DBC(ServerType.SERVLET, DriverType.R2DBC, false),
    /** WebFlux on Netty, JDBC calls on a bounded scheduler. */
    WEBFLUX_JDBC(ServerType.REACTIVE, DriverType.JDBC, false),
    /** WebFlux on Netty, R2DBC. */
    WEBFLUX_R2DBC(ServerType.REACTIVE, DriverType.R2DBC, false),
    /** No service: only keeps the machine's shared PostgreSQL running and prints its URL. */
    POSTGRES(ServerType.NONE, DriverType.NONE, false);

    /** The web server, and the class that the jar must contain for it. */
    public enum ServerType {
        SERVLET(WebApplicationType.SERVLET, "org.springframework.web.servlet.DispatcherServlet"),
        REACTIVE(WebApplicationType.REACTIVE, "org.springframework.web.reactive.DispatcherHandler"),
        NONE(WebApplicationType.NONE, "java.lang.Object");

        private final WebApplicationType type;
        private final String requiredClass;

        ServerType(WebApplicationType type, String requiredClass) {
            this.type = type;
            this.requiredClass = requiredClass;
        }

        /** Spring Boot's type of web application for this server. */
        public WebApplicationType type() {
            return type;
        }
    }

    /** The database driver, and the class that the jar must contain for it. */
    public enum DriverType {
        JDBC("com.zaxxer.hikari.HikariDataSource"),
        R2DBC("io.r2dbc.pool.ConnectionPool"),
        NONE("io.zonky.test.db.postgres.embedded.EmbeddedPostgres");

        private final String requiredClass;

        DriverType(String requiredClass) {
            this.requiredClass = requiredClass;
        }
    }

    private final ServerType serverType;
    private final DriverType driverType;
    private final boolean virtualThreads;

    Stack(ServerType serverType, DriverType driverType, boolean virtualThreads) {
        this.serverType = serverType;
        this.driverType = driverType;
        this.virtualThreads = virtualThreads;
    }

    public ServerType serverType() {
        return serverType;
    }

    public DriverType driverType() {
        return driverType;
    }

    /** Whether each request runs on a virtual thread. */
    public boolean virtualThreads() {
        return virtualThreads;
    }

    /** The name in configuration, such as {@code webflux-r2dbc}. */
    public String id() {
        return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }

    /**
     * The stacks whose libraries are on this class path: all stacks, or those of a jar packaged for one
     * stack.
     */
    public static List<Stack> availableIn(ClassLoader classes) {
        return Arrays.stream(values())
                .filter(stack -> ClassUtils.isPresent(stack.serverType.requiredClass, classes)
                        && ClassUtils.isPresent(stack.driverType.requiredClass, classes))
                .toList();
    }

    /**
     * The stack of that name.
     *
     * @throws IllegalArgumentException if the name is unknown, or if the class path lacks the stack's
     *     libraries
     */
    public static Stack of(String id, ClassLoader classes) {
        List<Stack> available = availableIn(classes);
        return available.stream()
                .filter(stack -> stack.id().equals(id))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("sim.stack: " + id + " (expected one of: "
                        + available.stream().map(Stack::id).collect(Collectors.joining(", ")) + ")"
                        + (Arrays.stream(values()).anyMatch(stack -> stack.id().equals(id))
                                ? "; this jar does not contain the libraries of " + id
                                : "")));
    }
}
