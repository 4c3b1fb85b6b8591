package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.bind.validation.BindValidationException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.ConfigurationPropertyState;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.FileSystemResource;

/** Binds the same properties with the same errors as Spring Boot alone, and reads each name once. */
class RoutesBinderTest {

    private static final String TWO_ROUTES = """
            host: orders
            spring.cloud.gateway.server.webflux:
              default-filters:
                - PreserveHostHeader
                - { name: AddRequestHeader, args: { name: X-A, value: "${host}" } }
              Routes:
                - id: orders
                  uri: backend://${host}
                  predicates: ["Path=/orders/**,/old/**", { name: Host, args: { patterns: "${host}.test" } }]
                  filters: [StripPrefix=1]
                  metadata: { a.b: 1, nested: { list: [1, 2], "[x/y]": z } }
                  order: 7
                - { id: stock, uri: "backend://stock", predicates: "Path=/stock/**", enabled: false, timeOut: 1 }
              trusted_proxies: 10.*
            """;

    @TempDir
    private Path directory;

    /** A property source that counts the names that it lists. */
    private static final class CountingSource implements IterableConfigurationPropertySource {

        private final IterableConfigurationPropertySource source;
        private int listedNames;

        CountingSource(Map<String, String> properties) {
            source = new MapConfigurationPropertySource(properties);
        }

        @Override
        public Stream<ConfigurationPropertyName> stream() {
            return source.stream().peek(name -> listedNames++);
        }

        @Override
        public @Nullable ConfigurationProperty getConfigurationProperty(ConfigurationPropertyName name) {
            return source.getConfigurationProperty(name);
        }

        @Override
        public ConfigurationPropertyState containsDescendantOf(ConfigurationPropertyName name) {
            return source.containsDescendantOf(name);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 100})
    void readsEachNameOnceForTheListAndOnceForItsRoute(int routes) {
        Map<String, String> properties = new LinkedHashMap<>();
        IntStream.range(0, routes).forEach(i -> {
            String route = "spring.cloud.gateway.server.webflux.routes[" + i + "].";
            properties.put(route + "id", "r" + i);
            properties.put(route + "uri", "backend://orders");
            properties.put(route + "predicates[0]", "Path=/r" + i);
            properties.put(route + "filters[0].name", "StripPrefix");
            properties.put(route + "filters[0].args.parts", "1");
            properties.put(route + "metadata.a", "b");
        });
        CountingSource source = new CountingSource(properties);

        GatewayProperties bound = new RoutesBinder(new StandardEnvironment(), List.of(source)).gateway();

        assertThat(bound.getRoutes()).hasSize(routes);
        assertThat(source.listedNames).isEqualTo(2 * properties.size());
    }

    private StandardEnvironment environment(String... files) throws IOException {
        StandardEnvironment environment = new StandardEnvironment();
        for (int i = 0; i < files.length; i++) {
            Path file = Files.writeString(directory.resolve(i + ".yml"), files[i]);
            new YamlPropertySourceLoader()
                    .load(file.toString(), new FileSystemResource(file))
                    .forEach(environment.getPropertySources()::addLast);
        }
        return environment;
    }

    private static String bindBySpringBoot(ConfigurableEnvironment environment) {
        return describe(() -> Binder.get(environment)
                .bind(GatewayProperties.PREFIX, Bindable.of(GatewayProperties.class))
                .orElseGet(GatewayProperties::new));
    }

    private static String bind(ConfigurableEnvironment environment) {
        return describe(() -> new RoutesBinder(environment).gateway());
    }

    /** The text of an object without its identity. */
    private static String describe(Object object) {
        return object.toString().replaceAll("@[0-9a-f]+", "");
    }

    private static String describe(Supplier<GatewayProperties> bind) {
        try {
            return describe(bind.get());
        } catch (BindException e) {
            return describe(e.getMessage() + " at " + e.getProperty() + ": " + e.getCause());
        }
    }

    private static void assertBoundAsBySpringBoot(ConfigurableEnvironment environment, String expected) {
        ConfigurationPropertySources.attach(environment);

        assertThat(bind(environment)).isEqualTo(bindBySpringBoot(environment)).contains(expected);
    }

    @Test
    void bindsBothNotationsRelaxedNamesAndPlaceholders() throws IOException {
        assertBoundAsBySpringBoot(
                environment(TWO_ROUTES),
                "RouteDefinition{id='orders', predicates=[PredicateDefinition{name='Path', "
                        + "args={_genkey_0=/orders/**, _genkey_1=/old/**}}, "
                        + "PredicateDefinition{name='Host', args={patterns=orders.test}}]");
    }

    @Test
    void bindsNothing() throws IOException {
        assertBoundAsBySpringBoot(environment("a: b"), "routes = list[[empty]]");
    }

    @Test
    void takesTheListFromTheFirstSourceThatHasOneOfItsElements() throws IOException {
        StandardEnvironment environment = environment("""
                spring.cloud.gateway.server.webflux.routes:
                  - { id: first, uri: "backend://first" }
                """, TWO_ROUTES);

        assertBoundAsBySpringBoot(environment, "routes = list[RouteDefinition{id='first', predicates=[]");
        assertThat(bind(environment)).doesNotContain("id='orders'");
    }

    @Test
    void takesTheListFromSystemProperties() throws IOException {
        StandardEnvironment environment = environment(TWO_ROUTES);
        environment
                .getPropertySources()
                .addFirst(new MapPropertySource(
                        "given",
                        Map.of(
                                "spring.cloud.gateway.server.webflux.routes[0].id",
                                "given",
                                "spring.cloud.gateway.server.webflux.routes[0].metadata.x",
                                "y")));

        assertBoundAsBySpringBoot(environment, "routes = list[RouteDefinition{id='given'");
    }

    @Test
    void takesTheListFromEnvironmentVariables() throws IOException {
        StandardEnvironment environment = environment(TWO_ROUTES);
        environment
                .getPropertySources()
                .addFirst(new SystemEnvironmentPropertySource(
                        "given-systemEnvironment",
                        Map.of(
                                "SPRING_CLOUD_GATEWAY_SERVER_WEBFLUX_ROUTES_0_ID",
                                "given",
                                "SPRING_CLOUD_GATEWAY_SERVER_WEBFLUX_ROUTES_0_PREDICATES_0",
                                "Path=/given",
                                "SPRING_CLOUD_GATEWAY_SERVER_WEBFLUX_ROUTES_0_FILTERS_0_ARGS_PARTS",
                                "1")));

        assertBoundAsBySpringBoot(
                environment,
                "routes = list[RouteDefinition{id='given', "
                        + "predicates=[PredicateDefinition{name='Path', args={_genkey_0=/given}}], "
                        + "filters=[FilterDefinition{name='null', args={parts=1}}]");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "[0].uri: 'a b:c'",
                "[0].order: many",
                "[1].predicates[0]: Path",
                "[0].predicates[1]: Path=/x",
                "[2].id: after-a-gap",
                "[0].metadata: text",
                ": 5"
            })
    void reportsTheErrorOfSpringBoot(String property) throws IOException {
        assertBoundAsBySpringBoot(environment("""
                        spring.cloud.gateway.server.webflux.routes%s
                        """.formatted(property), TWO_ROUTES), "Failed to bind properties under");
    }

    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties(GatewayProperties.class)
    static class Bound {}

    /** The properties or the errors of a start. */
    private static String start(ApplicationContextRunner runner) {
        StringBuilder result = new StringBuilder();
        runner.run(context -> {
            for (Throwable e = context.getStartupFailure(); e != null; e = e.getCause()) {
                if (e instanceof BindException failed) {
                    result.append(describe(String.valueOf(failed.getProperty())));
                } else if (e instanceof BindValidationException invalid) {
                    invalid.getValidationErrors().forEach(error -> result.append(describe(error)));
                } else if (e instanceof UnboundConfigurationPropertiesException unbound) {
                    result.append(describe(unbound.getUnboundProperties()));
                }
                result.append(describe(e)).append('\n');
            }
            if (context.getStartupFailure() == null) {
                result.append(describe(context.getBean(GatewayProperties.class)));
            }
        });
        return result.toString();
    }

    @ParameterizedTest
    @CsvSource({
        "'', id='orders'",
        "[0].uri: a b:c, 0.yml",
        "[0].id: without-predicates, routes[0].predicates",
        "[1].id: after-a-gap, 0.yml"
    })
    void bindsAtAStartAsSpringBootDoes(String property, String expected) throws IOException {
        ConfigurableEnvironment files = property.isEmpty()
                ? environment(TWO_ROUTES)
                : environment("spring.cloud.gateway.server.webflux.routes" + property, TWO_ROUTES);
        ApplicationContextRunner runner = new ApplicationContextRunner()
                .withInitializer(context -> context.setEnvironment(files))
                .withUserConfiguration(Bound.class);

        String started = start(runner.withInitializer(context ->
                context.getBeanFactory().registerSingleton("advisor", RoutesBinder.advisor(context.getEnvironment()))));

        assertThat(started).isEqualTo(start(runner)).contains(expected);
    }
}
