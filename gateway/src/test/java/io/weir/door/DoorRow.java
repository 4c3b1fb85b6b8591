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
 * A row in the table of {@link DoorsDifferentialIT}: routes, requests to them with the expected results, and
 * the backend's response.
 *
 * <p>A row's routes match its own requests only, by a field of these requests.
 */
final class DoorRow {

    /** The default response of the backend. */
    static final String OK = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Multi: one\r\nX-Multi: two\r\n"
            + "Content-Length: 2\r\n\r\nok";

    /**
     * A request and its expected result in both doors.
     *
     * @param head the first line and the fields
     * @param body the bytes after the head, including framing
     * @param status the status that the caller receives
     * @param target the target that the backend receives; null if the request does not reach it
     */
    record Case(
            String head, String body, int status, @Nullable String target) {

        /** Expects this target at the backend. */
        Case to(String asked) {
            return new Case(head, body, 200, asked);
        }

        /** Expects that no route matches. */
        Case none() {
            return fails(404);
        }

        /** Expects a response of the gateway itself. */
        Case fails(int with) {
            return new Case(head, body, with, null);
        }

        /** Expects another status than 200 from the backend. */
        Case gets(int other) {
            return new Case(head, body, other, target);
        }

        /** Adds bytes after the head. */
        Case with(String bytes) {
            return new Case(head, bytes, status, target);
        }

        /** Whether the request is HTTP/1.0. */
        boolean isHttp10() {
            return head.contains(" HTTP/1.0\r\n");
        }

        /** The bytes of the request, with additional fields. */
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
    private List<Case> cases = List.of();
    private String answer = OK;
    private boolean compiled = true;

    private DoorRow(String name) {
        this.name = name;
    }

    static DoorRow row(String name) {
        return new DoorRow(name);
    }

    /** Sets the predicates of the only route. */
    DoorRow when(String... of) {
        predicates = List.of(of);
        return this;
    }

    /** Sets the filters of the only route. */
    DoorRow then(String... filters) {
        return route(0, predicates, filters);
    }

    /** Adds one of several routes. */
    DoorRow route(int order, List<String> of, String... filters) {
        routes.add(new Definition(order, of, List.of(filters)));
        return this;
    }

    DoorRow cases(Case... of) {
        cases = List.of(of);
        return this;
    }

    /** Sets the backend's response. */
    DoorRow answered(String bytes) {
        answer = bytes;
        return this;
    }

    /** Expects that one of the routes is not compiled. */
    DoorRow notCompiled() {
        compiled = false;
        return this;
    }

    List<Case> cases() {
        return cases;
    }

    String answer() {
        return answer;
    }

    boolean isCompiled() {
        return compiled;
    }

    /** The field that selects the row's routes. */
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

    /** The route definitions, as elements of a YAML list. */
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

    /** A request with this first line and these fields, and a {@code Host} if the fields have none. */
    static Case request(String line, String... fields) {
        boolean hosted = line.endsWith("1.0")
                || Arrays.stream(fields)
                        .anyMatch(field -> field.toLowerCase(Locale.ROOT).startsWith("host:"));
        String head = Stream.concat(Stream.of(line, hosted ? "" : "Host: weir.test"), Arrays.stream(fields))
                .filter(part -> !part.isEmpty())
                .map(part -> part + "\r\n")
                .collect(Collectors.joining());
        return new Case(head, "", 200, null);
    }

    static Case get(String target, String... fields) {
        return request("GET " + target + " HTTP/1.1", fields);
    }

    @Override
    public String toString() {
        return name;
    }
}
