package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class DateFieldTest {

    private final AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2026-03-04T05:06:07.999Z"));
    private final DateField field = new DateField(now::get);

    private String added() {
        HttpHeaders head = new DefaultHttpHeaders();
        field.addIfMissing(head);
        return String.valueOf(head.get(HttpHeaderNames.DATE));
    }

    @Test
    void addsTheSecondOfTheClock() {
        assertThat(added()).isEqualTo("Wed, 04 Mar 2026 05:06:07 GMT");
        now.set(Instant.parse("2026-03-04T05:06:08Z"));
        assertThat(added()).isEqualTo("Wed, 04 Mar 2026 05:06:08 GMT");
        now.set(Instant.parse("2026-03-04T05:06:06Z"));
        assertThat(added()).as("the clock is set back").isEqualTo("Wed, 04 Mar 2026 05:06:06 GMT");
    }

    @Test
    void keepsTheDateOfABackend() {
        HttpHeaders head = new DefaultHttpHeaders().set(HttpHeaderNames.DATE, "Sun, 06 Nov 1994 08:49:37 GMT");

        field.addIfMissing(head);

        assertThat(head.getAll(HttpHeaderNames.DATE)).containsExactly("Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
