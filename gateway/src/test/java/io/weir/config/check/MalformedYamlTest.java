package io.weir.config.check;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Files with syntax errors, and files that YAML reads in an unintended way. They are no fixtures, since
 * editors would repair or refuse them.
 */
class MalformedYamlTest {

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "{0}")
    @MethodSource("files")
    void reportsTheProblem(MalformedConfiguration configuration) throws IOException {
        configuration.assertReported(directory);
        configuration.assertPrinted(directory);
    }

    static Stream<MalformedConfiguration> files() {
        return Stream.of(
                row(
                        "a bracket that is not closed",
                        """
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080"
                          drain: { delay: 1s }
                        """,
                        "gateway.yml:4: not YAML: expected ',' or '}', but got <scalar>, while parsing a flow mapping from line 3"),
                row("a colon too many", """
                        weir:
                          drain: delay: 1s
                        """, "gateway.yml:2: not YAML: mapping values are not allowed here"),
                row(
                        "a quote that is not closed",
                        """
                        weir:
                          drain:
                            delay: "1s
                            timeout: 2s
                        """,
                        "gateway.yml:5: not YAML: found unexpected end of stream, while scanning a quoted scalar from line 3"),
                row("tabs", """
                        weir:
                        	drain:
                        		delay: 1s
                        """, "gateway.yml:2: a tab indents this line and 1 more (expected: spaces)"),
                row("an alias that does not exist", """
                        weir:
                          drain: *nobody
                        """, "gateway.yml:2: not YAML: found undefined alias nobody"),
                row("no properties", """
                        - weir
                        - backends
                        """, "gateway.yml:1: expected: properties at the top level, such as weir:"),
                row("a duplicate key", """
                        weir:
                          drain:
                            delay: 1s
                            delay: 2s
                        """, "gateway.yml:4: weir.drain.delay (duplicate key, first in line 3)"),
                row(
                        "a duplicate block with problems in both parts",
                        """
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080", deadlin: 1s }
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: users, uri: "backend://users", predicates: ["Path=/users/**"] }
                        weir:
                          backends:
                            users: { uri: "http://users:8080" }
                          drain: { delay: 1h }
                        """,
                        "gateway.yml:3: weir.backends.orders.deadlin: 1s (unknown property; did you mean deadline?)",
                        "gateway.yml:6: weir (duplicate key, first in line 1)",
                        "gateway.yml:9: weir.drain.delay: 1h (expected: 0 to 5m)"),
                row(
                        "a key that YAML reads as true",
                        """
                        weir:
                          routes:
                            orders:
                              fallback:
                                on: [circuit-open]
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir.backends.orders.uri: http://orders:8080
                        """,
                        "gateway.yml:5: weir.routes.orders.fallback[true] (YAML reads the key (on, off, yes, no) as true; put it in quotes)"),
                row(
                        "two keys that YAML reads as true",
                        """
                        weir:
                          drain:
                            on: 1s
                            yes: 1s
                        """,
                        "gateway.yml:3: weir.drain[true]: 1s (YAML reads the key (on, off, yes, no) as true; put it in quotes)",
                        "gateway.yml:4: weir.drain[true] (duplicate key, first in line 3)"),
                row("a type that does not fit", """
                        weir:
                          drain:
                            delay: !!int 1s
                        """, "gateway.yml: not readable: For input string: \"1s\""),
                row("an alias that contains itself", """
                        weir: &weir
                          drain: *weir
                        """, "gateway.yml:1: weir.drain (an alias that contains itself)"),
                row(
                        "a character that is not allowed",
                        "weir:\n  drain:\n    delay: \"1\u0007s\"\n",
                        "gateway.yml:3: not YAML: a character that is not allowed, U+0007"));
    }

    private static MalformedConfiguration row(String name, String yaml, String... problems) {
        return new MalformedConfiguration(name, yaml, List.of(problems));
    }
}
