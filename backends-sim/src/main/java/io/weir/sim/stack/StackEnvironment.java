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
 * Translates {@code sim.stack} to Spring Boot settings before the context starts: the kind of web
 * application, virtual threads, and the exclusion of the other stacks' auto-configurations, which are in the
 * same jar.
 *
 * <p>It runs after the configuration files were read, so any of them may set {@code sim.stack}.
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

    /** Otherwise a reactive application would find two servers on the class path. */
    private static final List<String> REACTIVE_TOMCAT = List.of(
            "org.springframework.boot.tomcat.autoconfigure.reactive.TomcatReactiveWebServerAutoConfiguration",
            "org.springframework.boot.tomcat.autoconfigure.actuate.web.server.TomcatReactiveManagementContextAutoConfiguration");

    @Override
    public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
        Stack stack = stackOf(environment);
        Map<String, Object> settings = new HashMap<>();
        settings.put(
                "spring.main.web-application-type", stack.serverType().type().name());
        settings.put("spring.threads.virtual.enabled", stack.virtualThreads());
        int index = 0;
        for (String excluded : exclusionsFor(stack)) {
            settings.put("spring.autoconfigure.exclude[" + index++ + "]", excluded);
        }
        environment.getPropertySources().addFirst(new MapPropertySource("stack", settings));
        environment
                .getPropertySources()
                .addLast(new MapPropertySource(
                        "stack-name", Map.of("spring.application.name", "weir-sim-" + stack.id())));
    }

    /** The stack that the environment names; by default the first whose libraries are on the class path. */
    public static Stack stackOf(Environment environment) {
        ClassLoader classes = StackEnvironment.class.getClassLoader();
        @Nullable String id = environment.getProperty(PROPERTY);
        if (id == null) {
            return Stack.availableIn(classes).getFirst();
        }
        try {
            return Stack.of(id, classes);
        } catch (IllegalArgumentException e) {
            throw new StartupException(
                    String.valueOf(e.getMessage()), "Name one of them, such as --sim.stack=webflux-r2dbc.", e);
        }
    }

    private static List<String> exclusionsFor(Stack stack) {
        List<String> drivers =
                switch (stack.driverType()) {
                    // The package database creates the pools, from the same properties for both drivers.
                    case JDBC -> R2DBC;
                    case R2DBC -> JDBC;
                    case NONE -> concat(JDBC, R2DBC);
                };
        return stack.serverType() == Stack.ServerType.REACTIVE ? concat(drivers, REACTIVE_TOMCAT) : drivers;
    }

    private static List<String> concat(List<String> first, List<String> second) {
        return java.util.stream.Stream.concat(first.stream(), second.stream()).toList();
    }
}
