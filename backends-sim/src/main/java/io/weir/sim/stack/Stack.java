package io.weir.sim.stack;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.springframework.boot.WebApplicationType;
import org.springframework.util.ClassUtils;

/** What the simulator can stand as. The name on the outside ({@link #id()}) is that of the property {@code sim.stack}. */
public enum Stack {
    /** Spring MVC on Tomcat's platform threads, JDBC through HikariCP. */
    MVC_JDBC(Web.SERVLET, Access.JDBC, false),
    /** The same with a virtual thread for every request. */
    MVC_JDBC_VIRTUAL(Web.SERVLET, Access.JDBC, true),
    /** Spring MVC on Tomcat, R2DBC through r2dbc-pool. */
    MVC_R2DBC(Web.SERVLET, Access.R2DBC, false),
    /** WebFlux on Netty, JDBC off-loaded to a bounded scheduler. */
    WEBFLUX_JDBC(Web.REACTIVE, Access.JDBC, false),
    /** WebFlux on Netty, R2DBC. */
    WEBFLUX_R2DBC(Web.REACTIVE, Access.R2DBC, false),
    /** No service at all: keeps the machine's shared PostgreSQL running and says where it is. */
    POSTGRES(Web.NONE, Access.NONE, false);

    /** Where requests come in, and the class that must be in the jar for that. */
    public enum Web {
        SERVLET(WebApplicationType.SERVLET, "org.springframework.web.servlet.DispatcherServlet"),
        REACTIVE(WebApplicationType.REACTIVE, "org.springframework.web.reactive.DispatcherHandler"),
        NONE(WebApplicationType.NONE, "java.lang.Object");

        private final WebApplicationType type;
        private final String needed;

        Web(WebApplicationType type, String needed) {
            this.type = type;
            this.needed = needed;
        }

        /** Spring Boot's word for it. */
        public WebApplicationType type() {
            return type;
        }
    }

    /** How the database is reached, and the class that must be in the jar for that. */
    public enum Access {
        JDBC("com.zaxxer.hikari.HikariDataSource"),
        R2DBC("io.r2dbc.pool.ConnectionPool"),
        NONE("io.zonky.test.db.postgres.embedded.EmbeddedPostgres");

        private final String needed;

        Access(String needed) {
            this.needed = needed;
        }
    }

    private final Web web;
    private final Access access;
    private final boolean virtualThreads;

    Stack(Web web, Access access, boolean virtualThreads) {
        this.web = web;
        this.access = access;
        this.virtualThreads = virtualThreads;
    }

    public Web web() {
        return web;
    }

    public Access access() {
        return access;
    }

    /** Whether each request has a virtual thread of its own. */
    public boolean virtualThreads() {
        return virtualThreads;
    }

    /** Its name in configuration, such as {@code webflux-r2dbc}. */
    public String id() {
        return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
    }

    /** The stacks that this class path can carry: all of them, or those of a jar packaged with only what it needs. */
    public static List<Stack> carriedBy(ClassLoader classes) {
        return Arrays.stream(values())
                .filter(stack -> ClassUtils.isPresent(stack.web.needed, classes)
                        && ClassUtils.isPresent(stack.access.needed, classes))
                .toList();
    }

    /**
     * The stack of that name.
     *
     * @throws IllegalArgumentException if there is none, or if this class path does not carry it
     */
    public static Stack of(String id, ClassLoader classes) {
        List<Stack> carried = carriedBy(classes);
        return carried.stream()
                .filter(stack -> stack.id().equals(id))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("sim.stack: " + id + " (expected one of: "
                        + carried.stream().map(Stack::id).collect(Collectors.joining(", ")) + ")"
                        + (Arrays.stream(values()).anyMatch(stack -> stack.id().equals(id))
                                ? "; this jar was packaged without what " + id + " needs"
                                : "")));
    }
}
