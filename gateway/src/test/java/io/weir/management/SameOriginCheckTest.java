package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SameOriginCheckTest {

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                // Sec-Fetch-Site, Origin, Host, permitted with a token, permitted without
                "-, -, gateway:8081, true, true",
                "same-origin, http://localhost:8081, localhost:8081, true, true",
                "same-origin, http://127.0.0.1:8081, 127.0.0.1:8081, true, true",
                "same-origin, http://[::1]:8081, [::1]:8081, true, true",
                "-, http://localhost:8081, localhost:8081, true, true",
                "none, -, localhost:8081, true, true",
                "same-origin, https://ops.example, ops.example, true, false",
                "same-origin, -, rebound.example:8081, true, false",
                "-, http://rebound.example:8081, rebound.example:8081, true, false",
                "cross-site, http://evil.example, localhost:8081, false, false",
                "same-site, http://localhost:3000, localhost:8081, false, false",
                "cross-site, -, localhost:8081, false, false",
                "-, http://evil.example, localhost:8081, false, false",
                "-, http://localhost:3000, localhost:8081, false, false",
                "-, null, localhost:8081, false, false",
                "-, http://a b, localhost:8081, false, false",
                "-, http://localhost:8081, -, false, false"
            })
    void permitsItsOwnOriginAndClientsThatAreNoBrowsers(
            @Nullable String site,
            @Nullable String origin,
            @Nullable String host,
            boolean withToken,
            boolean withoutToken) {
        assertThat(new SameOriginCheck(true).permits(site, origin, host)).isEqualTo(withToken);
        assertThat(new SameOriginCheck(false).permits(site, origin, host)).isEqualTo(withoutToken);
    }
}
