package io.weir.door;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A row in the table that both doors are held to: routes, what is asked of them, and what the backend answers.
 *
 * <p>A row's routes match its own requests only, by a field that these carry.
 */
final class DoorRow {

    /** A backend's answer if a row has none of its own. */
    static final String OK = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Multi: one\r\nX-Multi: two\r\n"
            + "Content-Length: 2\r\n\r\nok";

    /**
     * A request, and what is to become of it through either door.
     *
     * @param head its first line and fields
     * @param body behind the head, framing included
     * @param status what the caller gets
     * @param target what the backend is asked for; null: it is not asked
     */
    record Ask(
            String head, String body, int status, @Nullable String target) {

        /** The backend is asked for this. */
        Ask to(String asked) {
            return new Ask(head, body, 200, asked);
        }

        /** No route matches. */
        Ask none() {
            return fails(404);
        }

        /** The gateway answers itself. */
        Ask fails(int with) {
            return new Ask(head, body, with, null);
        }

        /** What the caller gets of a backend's answer that is no 200. */
        Ask gets(int other) {
            return new Ask(head, body, other, target);
        }

        /** With bytes behind the head. */
        Ask with(String bytes) {
            return new Ask(head, bytes, status, target);
        }

        /** Whether it is HTTP/1.0. */
        boolean isOld() {
            return head.contains(" HTTP/1.0\r\n");
        }

        /** The bytes to send, with more fields. */
        String bytes(String... fields) {
            return head + String.join("\r\n", fields) + "\r\n\r\n" + body;
        }

        @Override
        public String toString() {
            return (head + body).replace("\r\n", " | ");
        }
    }

    private record Definition(int order, List<String> predicates, List<String> filters) {}

    private final String name;
    private final List<Definition> routes = new ArrayList<>();
    private List<String> predicates = List.of();
    private List<Ask> asks = List.of();
    private String answer = OK;
    private boolean compiled = true;

    private DoorRow(String name) {
        this.name = name;
    }

    static DoorRow row(String name) {
        return new DoorRow(name);
    }

    /** The predicates of its route. */
    DoorRow when(String... of) {
        predicates = List.of(of);
        return this;
    }

    /** The filters of its route. */
    DoorRow then(String... filters) {
        return route(0, predicates, filters);
    }

    /** One of several routes. */
    DoorRow route(int order, List<String> of, String... filters) {
        routes.add(new Definition(order, of, List.of(filters)));
        return this;
    }

    DoorRow asks(Ask... of) {
        asks = List.of(of);
        return this;
    }

    /** What the backend answers. */
    DoorRow answered(String bytes) {
        answer = bytes;
        return this;
    }

    /** One of its routes is not for the compiled door. */
    DoorRow notCompiled() {
        compiled = false;
        return this;
    }

    List<Ask> asks() {
        return asks;
    }

    String answer() {
        return answer;
    }

    boolean isCompiled() {
        return compiled;
    }

    /** The field that leads to its routes. */
    String field() {
        return "X-Row: " + id();
    }

    String id() {
        return name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
    }

    List<String> routeIds() {
        return IntStream.range(0, Math.max(1, routes.size()))
                .mapToObj(i -> id() + '-' + i)
                .toList();
    }

    /** Its routes' definitions, elements of a list in YAML. */
    String yaml() {
        if (routes.isEmpty()) {
            then();
        }
        StringBuilder yaml = new StringBuilder();
        List<String> ids = routeIds();
        for (int i = 0; i < routes.size(); i++) {
            Definition route = routes.get(i);
            yaml.append("  - { id: ")
                    .append(ids.get(i))
                    .append(", uri: \"backend://orders\", order: ")
                    .append(route.order())
                    .append(", predicates: ")
                    .append(quoted(Stream.concat(route.predicates().stream(), Stream.of("Header=X-Row, " + id()))))
                    .append(", filters: ")
                    .append(quoted(route.filters().stream()))
                    .append(" }\n");
        }
        return yaml.toString();
    }

    private static String quoted(Stream<String> definitions) {
        return definitions.map(definition -> '\'' + definition + '\'').collect(Collectors.joining(", ", "[", "]"));
    }

    /** A request's first line and fields; a {@code Host} unless it has one. */
    static Ask ask(String line, String... fields) {
        boolean hosted = line.endsWith("1.0")
                || Arrays.stream(fields)
                        .anyMatch(field -> field.toLowerCase(Locale.ROOT).startsWith("host:"));
        String head = Stream.concat(Stream.of(line, hosted ? "" : "Host: weir.test"), Arrays.stream(fields))
                .filter(part -> !part.isEmpty())
                .map(part -> part + "\r\n")
                .collect(Collectors.joining());
        return new Ask(head, "", 200, null);
    }

    static Ask get(String target, String... fields) {
        return ask("GET " + target + " HTTP/1.1", fields);
    }

    @Override
    public String toString() {
        return name;
    }
}
