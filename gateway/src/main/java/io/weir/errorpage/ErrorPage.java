package io.weir.errorpage;

import io.weir.outcome.Refusal;
import java.nio.charset.StandardCharsets;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A page of HTML with placeholders. */
public final class ErrorPage {

    /** The media type of a page. */
    public static final String CONTENT_TYPE = "text/html; charset=utf-8";

    private static final Pattern PLACEHOLDER = Pattern.compile("\\{\\{(status|title|reason|request-id)}}");

    private final String text;

    ErrorPage(String text) {
        this.text = text;
    }

    /**
     * The page for a refusal, in UTF-8. What a caller may have written is escaped.
     *
     * @param requestId the request's id, as in {@code X-Request-Id}
     */
    public byte[] body(Refusal refusal, String requestId) {
        return PLACEHOLDER
                .matcher(text)
                .replaceAll(found -> Matcher.quoteReplacement(value(found, refusal, requestId)))
                .getBytes(StandardCharsets.UTF_8);
    }

    private static String value(MatchResult found, Refusal refusal, String requestId) {
        return switch (found.group(1)) {
            case "status" -> Integer.toString(refusal.status());
            case "title" -> escaped(refusal.reason().title());
            case "reason" -> refusal.reason().word();
            default -> escaped(requestId);
        };
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
