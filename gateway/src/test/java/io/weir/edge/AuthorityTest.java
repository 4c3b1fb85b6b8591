package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AuthorityTest {

    @ParameterizedTest
    @CsvSource({
        "shop.example:443, https, shop.example",
        "shop.example:80, http, shop.example",
        "shop.example:, https, shop.example",
        "[2001:db8::1]:443, https, [2001:db8::1]",
        "shop.example:80, https,",
        "shop.example:443, http,",
        "shop.example:8443, https,",
        "shop.example, https,",
        "[2001:db8::1], https,"
    })
    void knowsTheDefaultPorts(String authority, String scheme, @Nullable String expected) {
        assertThat(Authority.withoutDefaultPort(authority, scheme)).isEqualTo(expected);
    }
}
