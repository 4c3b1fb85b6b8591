package io.weir.errorpage;

import io.weir.outcome.Refusal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A page of HTML with placeholders. */
public final class ErrorPage {

    /** The media type of a page. */
    public static final String CONTENT_TYPE = "text/html; charset=utf-8";

    private static final Pattern PLACEHOLDER = Pattern.compile("\\{\\{(status|title|reason|request-id)}}");

    /** A text that stays as it is, or a placeholder's value. */
    @FunctionalInterface
    private interface Part {

        String of(Refusal refusal, String requestId);
    }

    private final List<Part> parts = new ArrayList<>();

    ErrorPage(String text) {
        Matcher placeholder = PLACEHOLDER.matcher(text);
        int end = 0;
        while (placeholder.find()) {
            addText(text.substring(end, placeholder.start()));
            parts.add(value(placeholder.group(1)));
            end = placeholder.end();
        }
        addText(text.substring(end));
    }

    private void addText(String text) {
        parts.add((refusal, requestId) -> text);
    }

    private static Part value(String name) {
        return switch (name) {
            case "status" -> (refusal, requestId) -> Integer.toString(refusal.status());
            case "title" -> (refusal, requestId) -> escaped(refusal.reason().title());
            case "reason" -> (refusal, requestId) -> refusal.reason().word();
            default -> (refusal, requestId) -> escaped(requestId);
        };
    }

    /**
     * The page for a refusal, in UTF-8. What a caller may have written is escaped.
     *
     * @param requestId the request's id, as in {@code X-Request-Id}
     */
    public byte[] body(Refusal refusal, String requestId) {
        StringBuilder body = new StringBuilder();
        parts.forEach(part -> body.append(part.of(refusal, requestId)));
        return body.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** For the text of an element and for a quoted attribute. */
    private static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;")
                .replace("'", "&#39;");
    }
}
