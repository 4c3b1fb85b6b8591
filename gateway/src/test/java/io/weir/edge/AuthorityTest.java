package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AuthorityTest {

    @ParameterizedTest
    @CsvSource({
        "shop.example:443, shop.example",
        "shop.example:, shop.example",
        "shop.example, shop.example",
        "[2001:db8::1]:8443, [2001:db8::1]",
        "[2001:db8::1], [2001:db8::1]"
    })
    void knowsTheHostWithoutThePort(String authority, String expected) {
        assertThat(Authority.host(authority)).isEqualTo(expected);
    }
}
