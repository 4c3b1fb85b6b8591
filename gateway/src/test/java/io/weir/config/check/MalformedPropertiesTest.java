package io.weir.config.check;

import static io.weir.config.check.MalformedConfiguration.backendRow;
import static io.weir.config.check.MalformedConfiguration.inBackend;
import static io.weir.config.check.MalformedConfiguration.problem;
import static io.weir.config.check.MalformedConfiguration.row;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MalformedPropertiesTest {

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "{0}")
    @MethodSource("names")
    void reportsTheName(MalformedConfiguration configuration) throws IOException {
        configuration.assertReported(directory);
    }

    static Stream<MalformedConfiguration> names() {
        return Stream.of(
                backendRow(
                        "a letter is missing",
                        "bulkhead: { max-concurrent-call: 64 }",
                        inBackend("bulkhead.max-concurrent-call", "64", "unknown property", "max-concurrent-calls")),
                backendRow(
                        "a group that does not exist, reported once and where it begins",
                        """
                        bulkhed:
                          max-concurrent-calls: 64
                          queue-capacity: 3
                        """,
                        inBackend("bulkhed", null, "unknown property", "bulkhead")),
                backendRow(
                        "a property of a group outside of it",
                        "max-concurrent-calls: 64",
                        inBackend("max-concurrent-calls", "64", "unknown property", "bulkhead.max-concurrent-calls")),
                row(
                        "properties of Spring Boot",
                        """
                        server:
                          prot: 8080
                        management.server.adress: 127.0.0.1
                        logging:
                          levels:
                            root: WARN
                            io.weir: INFO
                        spring.main.banner-mod: "off"
                        """,
                        problem(2, "server.prot", "8080", "unknown property", "port"),
                        problem(3, "management.server.adress", "127.0.0.1", "unknown property", "address"),
                        problem(5, "logging.levels", null, "unknown property", "level"),
                        problem(8, "spring.main.banner-mod", "off", "unknown property", "banner-mode")),
                row("the top level", """
                        weir:
                          backend:
                            orders:
                              uri: http://orders:8080
                        """, problem(2, "weir.backend", null, "unknown property", "backends")),
                row(
                        "camel case, misspelt",
                        """
                        weir:
                          edge:
                            maxHeadersize: 16KB
                            maxHeaderCuont: 100
                        """,
                        problem(4, "weir.edge.maxHeaderCuont", "100", "unknown property", "max-header-count")),
                row("nothing is near", """
                        weir:
                          drain:
                            colour: blue
                        """, problem(3, "weir.drain.colour", "blue", "unknown property")),
                row(
                        "a character that Spring Boot would leave out",
                        """
                        weir:
                          drain:
                            del@y: 1s
                        """,
                        problem(3, "weir.drain.del@y", "1s", "unknown property", "delay")),
                row(
                        "the top level with characters that Spring Boot would leave out",
                        """
                        weir!:
                          backends:
                            orders:
                              uri: http://orders:8080
                        """,
                        problem(1, "weir!", null, "unknown property", "weir")),
                row(
                        "a list in place of a group",
                        """
                        weir:
                          drain:
                            - delay: 1s
                        """,
                        problem(3, "weir.drain[0]", null, "expected: properties, not a list")),
                backendRow(
                        "a value in place of a group",
                        "bulkhead: 64",
                        inBackend(
                                "bulkhead",
                                "64",
                                "expected: properties: max-concurrent-calls, queue-capacity, max-wait-duration, limit, enforce, scope")),
                row(
                        "a value in place of the backends",
                        """
                        weir:
                          backends: http://orders:8080
                        """,
                        problem(
                                2,
                                "weir.backends",
                                "http://orders:8080",
                                "expected: names with properties of their own")),
                row(
                        "the name of a backend",
                        """
                        weir:
                          backends:
                            Orders_1:
                              uri: http://orders:8080
                        """,
                        problem(
                                3,
                                "weir.backends.Orders_1",
                                null,
                                "expected: 1 to 63 of a-z, 0-9 and -; a letter first, a letter or digit last")),
                row(
                        "names that Spring Boot cannot tell apart",
                        """
                        weir:
                          backends:
                            web-shop: { uri: "http://a:8080" }
                            webshop: { uri: "http://b:8080" }
                        """,
                        problem(4, "weir.backends.webshop", null, "Spring Boot reads it as the same name as web-shop")),
                row(
                        "a property in two spellings",
                        """
                        weir:
                          edge:
                            max-header-count: 50
                            maxHeaderCount: 60
                        """,
                        problem(
                                4,
                                "weir.edge.maxHeaderCount",
                                "60",
                                "duplicate of weir.edge.max-header-count in %s:3")));
    }
}
