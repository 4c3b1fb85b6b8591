package io.weir.errorpage;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ErrorPagesTest {

    private static ErrorPages pages(ErrorPageProperties... pages) {
        return new ErrorPages(new ErrorsProperties(List.of(pages)));
    }

    private static String text(ErrorPages pages, int status) {
        ErrorPage page = pages.of(status);
        return page == null
                ? "none"
                : new String(page.body(Refusal.of(Reason.NO_ROUTE, null), "1"), StandardCharsets.UTF_8);
    }

    @Test
    void aStatusHasItsPageAndAllOthersTheOneWithoutStatuses() {
        ErrorPages pages =
                pages(new ErrorPageProperties(null, "others"), new ErrorPageProperties(Set.of(502, 503), "backend"));

        assertThat(text(pages, 502)).isEqualTo("backend");
        assertThat(text(pages, 503)).isEqualTo("backend");
        assertThat(text(pages, 404)).isEqualTo("others");
    }

    @Test
    void aStatusWithoutAPageHasNone() {
        assertThat(text(pages(new ErrorPageProperties(Set.of(503), "backend")), 404))
                .isEqualTo("none");
        assertThat(text(ErrorPages.NONE, 503)).isEqualTo("none");
    }

    @Test
    void replacesPlaceholdersAndEscapesWhatACallerMayHaveWritten() {
        ErrorPage page =
                new ErrorPage("{{status}} {{title}} {{reason}} {{request-id}} {{request-id}} {{other}} { a: $1 \\ }");

        byte[] body = page.body(Refusal.of(Reason.CIRCUIT_OPEN, "not shown"), "<b>$1\\&\"");

        assertThat(new String(body, StandardCharsets.UTF_8))
                .isEqualTo("503 " + Reason.CIRCUIT_OPEN.title() + " circuit-open &lt;b&gt;$1\\&amp;&quot; "
                        + "&lt;b&gt;$1\\&amp;&quot; {{other}} { a: $1 \\ }");
    }
}
