package io.weir.lastgood;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.time.Instant;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The rules of RFC 9111 for a shared cache, and of RFC 5861, as tables. */
class AnswerTermsTest {

    private static final long NOW = Instant.parse("2026-08-01T10:00:00Z").toEpochMilli();

    /** Fields are separated by {@code |}. */
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "Cache-Control: no-store",
                "Cache-Control: No-Store",
                "Cache-Control: max-age=60, no-store",
                "Cache-Control: max-age=60|Cache-Control: no-store",
                "Cache-Control: private",
                "Cache-Control: private, max-age=60",
                "Cache-Control: private=\"x-user, x-other\"",
                "Cache-Control: no-cache",
                "Cache-Control: no-cache=\"set-cookie\"",
                "Cache-Control: x=\"a, b\" , no-store",
                "Cache-Control: public, private",
                "Cache-Control: no-store, must-understand",
                "Pragma: no-cache",
                "Set-Cookie: a=b",
                "Set-Cookie: a=b|Cache-Control: public",
                "Set-Cookie2: a=b",
                "Vary: *",
                "Vary: accept, *",
                "Vary: accept|Vary: *",
                "Content-Range: bytes 0-1/2",
                "Trailer: digest",
                // Stale already, and not to be used when it is stale.
                "Cache-Control: must-revalidate",
                "Cache-Control: max-age=0, must-revalidate",
                "Cache-Control: max-age=60, proxy-revalidate|Age: 60",
                "Cache-Control: s-maxage=0",
                "Cache-Control: s-maxage=60|Age: 61",
                "Cache-Control: max-age=60, stale-if-error=0|Age: 60",
                "Cache-Control: max-age=soon, must-revalidate",
                "Cache-Control: must-revalidate|Expires: 0",
                "Cache-Control: must-revalidate|Expires: Sat, 01 Aug 2026 10:00:00 GMT",
                "Cache-Control: max-age=60, must-revalidate|Date: Sat, 01 Aug 2026 09:58:00 GMT",
                // Of two values the shorter one holds.
                "Cache-Control: max-age=60, max-age=0, must-revalidate",
            })
    void isNotKept(String fields) {
        assertThat(AnswerTerms.of(headers(fields), NOW)).as(fields).isNull();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                // fields; age; usable until this age, -1: any; public
                "X: y; 0; -1; false",
                "Cache-Control: max-age=60; 0; -1; false",
                "Cache-Control: public; 0; -1; true",
                "Cache-Control: max-age=60|Pragma: no-cache; 0; -1; false",
                "Cache-Control: immutable, x-private=1; 0; -1; false",
                "Cache-Control: max-age=60|Age: 600; 600; -1; false",
                "Age: soon; 0; -1; false",
                "Date: Sat, 01 Aug 2026 09:59:30 GMT; 30; -1; false",
                "Date: Sat, 01 Aug 2026 09:59:30 GMT|Age: 10; 30; -1; false",
                "Date: Sat, 01 Aug 2026 09:59:30 GMT|Age: 50; 50; -1; false",
                "Date: Sat, 01 Aug 2026 10:30:00 GMT; 0; -1; false",
                "Date: yesterday; 0; -1; false",
                "Cache-Control: max-age=60, must-revalidate; 0; 60; false",
                "Cache-Control: max-age=\"60\", must-revalidate; 0; 60; false",
                "Cache-Control: max-age=60, proxy-revalidate, stale-if-error=600; 0; 60; false",
                "Cache-Control: s-maxage=60, max-age=10; 0; 60; false",
                "Cache-Control: max-age=60, stale-if-error=600; 0; 660; false",
                "Cache-Control: s-maxage=60, stale-if-error=600; 0; 660; false",
                "Cache-Control: stale-if-error=600; 0; 600; false",
                "Cache-Control: stale-if-error=600|Expires: Sat, 01 Aug 2026 10:01:00 GMT; 0; 660; false",
                "Cache-Control: max-age=99999999999999999999, must-revalidate; 0; 2147483648; false",
            })
    void isKeptOnTerms(String fields, long age, long usable, boolean isPublic) {
        AnswerTerms terms = AnswerTerms.of(headers(fields), NOW);
        assertThat(terms).as(fields).isNotNull();
        assertThat(terms.initialAgeSeconds()).isEqualTo(age);
        assertThat(terms.usableSeconds()).isEqualTo(usable < 0 ? AnswerTerms.UNLIMITED : usable);
        assertThat(terms.isPublic()).isEqualTo(isPublic);
        assertThat(terms.varyNames()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "Vary: Accept; accept",
                "Vary: User-Agent, accept|Vary: ACCEPT; accept,user-agent",
                "Vary: ,; ''",
                "Content-Encoding: gzip; accept-encoding",
                "Content-Encoding: gzip|Vary: Accept-Encoding; accept-encoding",
                "Content-Encoding: br|Vary: Accept; accept,accept-encoding",
                "Content-Encoding: identity; ''",
            })
    void isSelectedByTheFieldsOfVaryAndByTheEncoding(String fields, String names) {
        AnswerTerms terms = AnswerTerms.of(headers(fields), NOW);
        assertThat(terms).isNotNull();
        assertThat(String.join(",", terms.varyNames())).isEqualTo(names);
    }

    private static HttpHeaders headers(String fields) {
        HttpHeaders headers = new DefaultHttpHeaders();
        for (String field : fields.split("\\|")) {
            int colon = field.indexOf(':');
            headers.add(field.substring(0, colon), field.substring(colon + 1).strip());
        }
        return headers;
    }
}
