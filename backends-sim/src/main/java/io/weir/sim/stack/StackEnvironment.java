package io.weir.sim.stack;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.Environment;
import org.springframework.core.env.MapPropertySource;

/**
 * Turns {@code sim.stack} into what Spring Boot has to know before there is a context: the kind of web application, the
 * kind of threads, and the auto-configurations of the other stacks, which are in the same jar and must keep out.
 *
 * <p>It runs after the configuration files have been read, so {@code sim.stack} can stand in any of them.
 */
public final class StackEnvironment implements EnvironmentPostProcessor {

    private static final String PROPERTY = "sim.stack";

    private static final List<String> JDBC = List.of(
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.DataSourceInitializationAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration");

    private static final List<String> R2DBC = List.of(
            "org.springframework.boot.r2dbc.autoconfigure.R2dbcAutoConfiguration",
            "org.springframework.boot.r2dbc.autoconfigure.R2dbcTransactionManagerAutoConfiguration",
            "org.springframework.boot.r2dbc.autoconfigure.R2dbcInitializationAutoConfiguration");

    /** A reactive application would otherwise find two servers on the class path. */
    private static final List<String> REACTIVE_TOMCAT = List.of(
            "org.springframework.boot.tomcat.autoconfigure.reactive.TomcatReactiveWebServerAutoConfiguration",
            "org.springframework.boot.tomcat.autoconfigure.actuate.web.server.TomcatReactiveManagementContextAutoConfiguration");

    @Override
    public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
        Stack stack = stackOf(environment);
        Map<String, Object> settings = new HashMap<>();
        settings.put("spring.main.web-application-type", stack.web().type().name());
        settings.put("spring.threads.virtual.enabled", stack.virtualThreads());
        int index = 0;
        for (String excluded : foreignTo(stack)) {
            settings.put("spring.autoconfigure.exclude[" + index++ + "]", excluded);
        }
        environment.getPropertySources().addFirst(new MapPropertySource("stack", settings));
        environment
                .getPropertySources()
                .addLast(new MapPropertySource(
                        "stack-name", Map.of("spring.application.name", "weir-sim-" + stack.id())));
    }

    /** The stack that this environment names, or else the first that the class path carries. */
    public static Stack stackOf(Environment environment) {
        ClassLoader classes = StackEnvironment.class.getClassLoader();
        @Nullable String id = environment.getProperty(PROPERTY);
        if (id == null) {
            return Stack.carriedBy(classes).getFirst();
        }
        try {
            return Stack.of(id, classes);
        } catch (IllegalArgumentException e) {
            throw new StartProblem(
                    String.valueOf(e.getMessage()), "Name one of them, such as --sim.stack=webflux-r2dbc.", e);
        }
    }

    private static List<String> foreignTo(Stack stack) {
        List<String> drivers =
                switch (stack.access()) {
                    // The pools are built by the package database, from one set of properties for both drivers.
                    case JDBC -> R2DBC;
                    case R2DBC -> JDBC;
                    case NONE -> concat(JDBC, R2DBC);
                };
        return stack.web() == Stack.Web.REACTIVE ? concat(drivers, REACTIVE_TOMCAT) : drivers;
    }

    private static List<String> concat(List<String> first, List<String> second) {
        return java.util.stream.Stream.concat(first.stream(), second.stream()).toList();
    }
}
