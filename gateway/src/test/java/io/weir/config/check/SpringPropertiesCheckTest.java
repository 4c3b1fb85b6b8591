package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.check.RawTree.Setting;
import io.weir.testing.SourceTree;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class SpringPropertiesCheckTest {

    /** Names in the documents that are relative to {@code weir}. */
    private static final Set<String> NO_PROPERTIES = Set.of(
            "management.token", "management.read-only-token", "management.operators", "management.allowed-hosts");

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "server.prot, server.prot, port",
        "server.http2.enable, server.http2.enable, enabled",
        "server.ssl.key-stor, server.ssl.key-stor, key-store",
        "server.netty.idleTimout, server.netty.idleTimout, idle-timeout",
        "management.server.prot, management.server.prot, port",
        "management.endpoints.web.exposure.inclde, management.endpoints.web.exposure.inclde, include",
        "management.endpoint.helth.show-details, management.endpoint.helth, health",
        "management.endpoint.health.show-detail, management.endpoint.health.show-detail, show-details",
        "management.endpoint.health.probes.enabledd, management.endpoint.health.probes.enabledd, enabled",
        "management.prometeus.metrics.export.enabled, management.prometeus, prometheus",
        "logging.levels.root, logging.levels, level",
        "logging.pattern.consol, logging.pattern.consol, console",
        "logging.file.nme, logging.file.nme, name",
        "spring.aplication.name, spring.aplication, application",
        "spring.main.banner-mod, spring.main.banner-mod, banner-mode",
        "spring.profile.active, spring.profile, profiles",
        "spring.ssl.bundel.pem.orders.truststore.certificate, spring.ssl.bundel, bundle",
        "spring.cloud.gatway.server.webflux.enabled, spring.cloud.gatway, gateway",
        "spring.cloud.gateway.server.webflux.httpclint.pool.type, spring.cloud.gateway.server.webflux.httpclint, httpclient",
        "sever.port, sever, server",
        "mangement.server.port, mangement, management",
        "wier.edge.max-connections, wier, weir",
    })
    void reportsAMisspeltName(String property, String path, String nearest) {
        assertThat(check(property)).singleElement().satisfies(problem -> {
            assertThat(problem.path()).isEqualTo(path);
            assertThat(problem.why()).isEqualTo("unknown property");
            assertThat(problem.nearest()).isEqualTo(nearest);
            assertThat(problem.location()).hasToString("gateway.yml:7");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"server.tomcat.threads.max", "management.whatever", "logging.colour", "server.port.number"})
    void reportsAnUnknownNameWithoutASimilarOne(String property) {
        assertThat(check(property)).hasSize(1);
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "server.use-forward-headers, server.forward-headers-strategy",
        "server.max-http-header-size, server.max-http-request-header-size",
        "logging.path, logging.file.path",
    })
    void namesTheReplacementOfARemovedProperty(String property, String replacement) {
        assertThat(check(property)).singleElement().satisfies(problem -> {
            assertThat(problem.why()).isEqualTo("not read by this version");
            assertThat(problem.nearest()).isEqualTo(replacement);
        });
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "server.port",
                "SERVER.PORT",
                "server.forwardHeadersStrategy",
                "server.forward_headers_strategy",
                "server.ssl.enabled-protocols[0]",
                "server.ssl.serverNameBundles[0].server-name",
                "management.server.ssl.bundle",
                "management.endpoints.web.exposure.include[3]",
                "management.endpoints.web.path-mapping.health",
                "management.endpoint.weir.access",
                "management.endpoint.weirreload.access",
                "management.endpoint.custom.cache.time-to-live",
                "management.endpoint.health.group.ready.include",
                "management.endpoint.health.status.http-mapping.down",
                "management.health.redis.enabled",
                "management.metrics.tags.region",
                "management.metrics.enable.jvm.gc",
                "management.metrics.distribution.percentiles-histogram.http.server.requests",
                "management.observations.enable.http",
                "management.observations.key-values.a.b.c",
                "management.prometheus.metrics.export.step",
                "logging.level.root",
                "logging.level.io.weir.engine",
                "logging.level[io.weir]",
                "logging.group.web",
                "logging.file.name",
                "logging.structured.format.console",
                "logging.expect-correlation-id",
                "spring.application.name",
                "spring.config.import[0]",
                "spring.config.activate.on-profile",
                "spring.profiles.group.prod[0]",
                "spring.ssl.bundle.pem.orders.truststore.certificate",
                "spring.ssl.bundle.jks.edge.keystore.location",
                "spring.jackson.serialization.indent-output",
                "spring.cloud.gateway.server.webflux.routes[0].id",
                "spring.cloud.gateway.server.webflux.globalcors.cors-configurations[/**].allowed-origins",
                "spring.cloud.gateway.server.webflux.filter.retry.enabled",
                "spring.cloud.gateway.server.webflux.predicate.host.include-port",
                "spring.cloud.gateway.server.webflux.httpclient.pool.maxIdleTime",
                "weir.no-such-property",
                "resilience4j.circuitbreaker.configs.default.x",
                "debug",
                "info.app.name",
                "my.own.name",
            })
    void acceptsAKnownName(String property) {
        assertThat(check(property)).isEmpty();
    }

    /**
     * String constants in the classes of Spring: properties that they read, and that no metadata describes.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "spring.aot.enabled",
                "spring.application.pid",
                "spring.beans.smart-initialize",
                "spring.cloud.bootstrap.enabled",
                "spring.cloud.circuitbreaker.http-services.enabled",
                "spring.cloud.client.ip-address",
                "spring.cloud.consul.host",
                "spring.cloud.discovery.blocking.enabled",
                "spring.cloud.discovery.reactive.enabled",
                "spring.cloud.gateway.server.webflux.actuator.verbose.enabled",
                "spring.cloud.gateway.server.webflux.function.enabled",
                "spring.cloud.gateway.server.webflux.globalcors.enabled",
                "spring.cloud.gateway.server.webflux.json-to-grpc.valid-proto-descriptor-prefixes",
                "spring.cloud.gateway.server.webflux.redis.enabled",
                "spring.cloud.gateway.server.webflux.stream.enabled",
                "spring.cloud.kubernetes.discovery.enabled",
                "spring.config.on-not-found",
                "spring.config.use-legacy-processing",
                "spring.context.checkpoint",
                "spring.context.exit",
                "spring.data.redis.host",
                "spring.expression.maxOperations",
                "spring.index.ignore",
                "spring.jndi.ignore",
                "spring.locking.strict",
                "spring.mail.host",
                "spring.main.environment-prefix",
                "spring.objenesis.ignore",
                "spring.output.ansi.console-available",
                "spring.security.user.name",
                "spring.template.provider.cache",
            })
    void acceptsASpringNameWithoutMetadata(String property) {
        assertThat(check(property)).isEmpty();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("metadataNames")
    void acceptsAllNamesOfTheMetadataInBothSpellings(String file, List<String> names) {
        for (String name : names) {
            assertThat(check(name)).as(name).isEmpty();
            assertThat(check(camelCase(name))).as(camelCase(name)).isEmpty();
        }
    }

    /**
     * Property names in the prose and the files for users; {@code config/*.yml} is checked as a whole
     * elsewhere.
     */
    @Test
    void acceptsTheNamesInTheDocuments() throws IOException {
        Pattern name = Pattern.compile("(?<![\\w./-])(server|management|logging|spring)(\\.[a-z][a-zA-Z0-9-]*)+");
        Set<String> names = new TreeSet<>();
        Path top = Path.of("..");
        for (String folder : List.of("README.md", "config", "ops", "perf")) {
            for (Path file : SourceTree.files(top.resolve(folder))) {
                if (!file.toString().matches(".*\\.(md|ya?ml|sh|py)|.*/[a-z-]+")) {
                    continue;
                }
                Matcher matcher = name.matcher(Files.readString(file));
                while (matcher.find()) {
                    names.add(matcher.group());
                }
            }
        }

        assertThat(names).contains("management.server.port", "server.address", "spring.webflux.base-path");
        names.removeAll(NO_PROPERTIES);
        assertThat(names).allSatisfy(each -> assertThat(check(each)).isEmpty());
    }

    static Stream<Arguments> metadataNames() throws IOException {
        List<Arguments> files = new ArrayList<>();
        for (URL url : Collections.list(SpringPropertiesCheckTest.class
                .getClassLoader()
                .getResources("META-INF/spring-configuration-metadata.json"))) {
            List<String> names = new ArrayList<>();
            try (InputStream in = url.openStream()) {
                for (JsonNode property : JsonMapper.shared().readTree(in).path("properties")) {
                    if (!property.path("deprecation").path("level").asString("").equals("error")) {
                        names.add(property.path("name").asString());
                    }
                }
            }
            String path = url.getPath();
            files.add(Arguments.of(path.substring(path.lastIndexOf('/', path.indexOf('!')) + 1), names));
        }
        return files.stream();
    }

    @Test
    void ignoresEnvironmentVariablesAndSystemProperties() {
        RawTree root = RawTree.root();
        root.add(new Setting(
                "server.prot", "1", SourceLocation.outsideFiles("environment variable SERVER_PROT"), 0, null, true));
        root.add(new Setting("logging.colour", "1", SourceLocation.outsideFiles("system properties"), 0, null, false));

        assertThat(check(root)).isEmpty();
    }

    @Test
    void reportsTheFileAlthoughAnEnvironmentVariableOverridesIt() {
        RawTree root = RawTree.root();
        root.add(new Setting(
                "server.prot", "1", SourceLocation.outsideFiles("environment variable SERVER_PROT"), 0, null, true));
        root.add(new Setting("server.prot", "2", SourceLocation.inFile("gateway.yml", 7), 1, null, false));

        assertThat(check(root))
                .singleElement()
                .hasToString("gateway.yml:7: server.prot: 2 (unknown property; did you mean port?)");
    }

    @Test
    void checksTheCommandLine() {
        RawTree root = RawTree.root();
        root.add(new Setting(
                "server.prot", "1", SourceLocation.outsideFiles(RawTreeReader.COMMAND_LINE), 0, null, false));

        assertThat(check(root))
                .singleElement()
                .hasToString("command line: server.prot: 1 (unknown property; did you mean port?)");
    }

    @Test
    void reportsAMisspeltGroupOnce() {
        RawTree root = RawTree.root();
        Map.of("logging.levels.root", "INFO", "logging.levels.io.weir", "DEBUG")
                .forEach((name, value) ->
                        root.add(new Setting(name, value, SourceLocation.inFile("gateway.yml", 7), 0, null, false)));

        assertThat(check(root)).hasSize(1);
    }

    private static String camelCase(String name) {
        StringBuilder camelCase = new StringBuilder();
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            if (c == '-' && i + 1 < name.length()) {
                camelCase.append(Character.toUpperCase(name.charAt(++i)));
            } else {
                camelCase.append(c);
            }
        }
        return camelCase.toString();
    }

    private static List<ConfigurationProblem> check(String property) {
        RawTree root = RawTree.root();
        root.add(new Setting(property, "1", SourceLocation.inFile("gateway.yml", 7), 0, null, false));
        return check(root);
    }

    private static List<ConfigurationProblem> check(RawTree root) {
        List<ConfigurationProblem> problems = new ArrayList<>();
        new SpringPropertiesCheck(path -> false, problems::add).check(root);
        return problems;
    }
}
