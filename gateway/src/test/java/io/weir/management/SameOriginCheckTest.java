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
                // Sec-Fetch-Site, Origin, Host, permitted
                "-, -, gateway:8081, true",
                "same-origin, http://localhost:8081, localhost:8081, true",
                "same-origin, http://127.0.0.1:8081, 127.0.0.1:8081, true",
                "same-origin, http://[::1]:8081, [::1]:8081, true",
                "-, http://localhost:8081, localhost:8081, true",
                "none, -, localhost:8081, true",
                "same-origin, https://ops.example, ops.example, true",
                "cross-site, http://evil.example, localhost:8081, false",
                "same-site, http://localhost:3000, localhost:8081, false",
                "cross-site, -, localhost:8081, false",
                "-, http://evil.example, localhost:8081, false",
                "-, http://localhost:3000, localhost:8081, false",
                "-, null, localhost:8081, false",
                "-, http://a b, localhost:8081, false",
                "-, http://localhost:8081, -, false"
            })
    void permitsItsOwnOriginAndClientsThatAreNoBrowsers(
            @Nullable String site, @Nullable String origin, @Nullable String host, boolean isPermitted) {
        assertThat(SameOriginCheck.permits(site, origin, host)).isEqualTo(isPermitted);
    }
}
