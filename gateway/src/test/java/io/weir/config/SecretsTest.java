package io.weir.config;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SecretsTest {

    @ParameterizedTest
    @CsvSource({
        "weir.management.token, hunter2, ******",
        "weir.management.tokn, hunter2, ******",
        "weir.tracing.headers.x-scope, hunter2, ******",
        "weir.tracing.headers.authorization, Bearer hunter2, ******",
        "weir.tracing.endpoint, http://collector:4318/v1/traces, http://collector:4318/v1/traces",
        "weir.backends.orders.uri, http://user:hunter2@orders:8080, http://******@orders:8080",
    })
    void showsNoSecret(String path, String value, String shown) {
        assertThat(Secrets.hide(path, value)).isEqualTo(shown);
    }
}
