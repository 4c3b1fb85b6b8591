package io.weir.config.check;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads the properties in one file of Spring Boot's configuration metadata, which is JSON.
 *
 * <p>Not a general JSON parser, because the check precedes each start: in a cold JVM such a parser's classes
 * take longer to load than all these files take to read. This reader supports escapes only in texts that it
 * skips: names of properties and types have none.
 */
final class MetadataReader {

    private static final char END = '\0';

    private final String json;
    private int at;

    /**
     * A property.
     *
     * @param type the type in Java's notation; null if unknown
     * @param isRemoved whether this version no longer reads it
     * @param replacement the property to use instead; null if there is none
     */
    record MetadataProperty(
            String name,
            @Nullable String type,
            boolean isRemoved,
            @Nullable String replacement) {}

    private MetadataReader(String json) {
        this.json = json;
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if it is malformed
     */
    static void read(String json, Consumer<MetadataProperty> properties) {
        MetadataReader reader = new MetadataReader(json);
        try {
            reader.readFields(field -> {
                if (field.equals("properties")) {
                    reader.readElements(() -> properties.accept(reader.readProperty()));
                } else {
                    reader.skip();
                }
            });
        } catch (IndexOutOfBoundsException e) {
            throw reader.malformed();
        }
    }

    private MetadataProperty readProperty() {
        @Nullable String[] texts = new String[3];
        boolean[] isRemoved = new boolean[1];
        readFields(field -> {
            switch (field) {
                case "name" -> texts[0] = readText();
                case "type" -> texts[1] = readText();
                case "deprecation" ->
                    readFields(detail -> {
                        switch (detail) {
                            case "level" -> isRemoved[0] = readText().equals("error");
                            case "replacement" -> texts[2] = readText();
                            default -> skip();
                        }
                    });
                default -> skip();
            }
        });
        String name = texts[0];
        if (name == null) {
            throw malformed();
        }
        return new MetadataProperty(name, texts[1], isRemoved[0], texts[2]);
    }

    /** Reads an object; {@code field} reads or skips the value of each field. */
    private void readFields(Consumer<String> field) {
        readAll('{', '}', () -> {
            String name = readText();
            expect(':');
            field.accept(name);
        });
    }

    private void readElements(Runnable element) {
        readAll('[', ']', element);
    }

    private void readAll(char open, char close, Runnable one) {
        expect(open);
        if (next() == close) {
            at++;
            return;
        }
        while (true) {
            one.run();
            if (next() == close) {
                at++;
                return;
            }
            expect(',');
        }
    }

    private String readText() {
        expect('"');
        int start = at;
        skipText();
        return json.substring(start, at - 1);
    }

    /** Skips the rest of a text, with its closing quote. */
    private void skipText() {
        int quote = json.indexOf('"', at);
        while (isEscaped(quote)) {
            quote = json.indexOf('"', quote + 1);
        }
        at = quote + 1;
    }

    private boolean isEscaped(int quote) {
        int first = quote;
        while (json.charAt(first - 1) == '\\') {
            first--;
        }
        return (quote - first) % 2 == 1;
    }

    /** Skips a value. */
    private void skip() {
        int depth = 0;
        do {
            switch (next()) {
                case '"' -> {
                    at++;
                    skipText();
                }
                case '{', '[' -> {
                    depth++;
                    at++;
                }
                case '}', ']' -> {
                    depth--;
                    at++;
                }
                case ',', ':' -> at++;
                default -> skipLiteral();
            }
        } while (depth > 0);
    }

    /** Skips a number, {@code true}, {@code false} or {@code null}. */
    private void skipLiteral() {
        int start = at;
        while (at < json.length()
                && (Character.isLetterOrDigit(json.charAt(at)) || "+-.".indexOf(json.charAt(at)) >= 0)) {
            at++;
        }
        if (at == start) {
            throw malformed();
        }
    }

    private void expect(char expected) {
        if (next() != expected) {
            throw malformed();
        }
        at++;
    }

    /** The next character that is no white space. */
    private char next() {
        while (at < json.length() && json.charAt(at) <= ' ') {
            at++;
        }
        return at < json.length() ? json.charAt(at) : END;
    }

    private IllegalArgumentException malformed() {
        return new IllegalArgumentException("malformed at character " + at + " (expected: configuration metadata)");
    }
}
