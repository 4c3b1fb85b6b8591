package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrailerFieldsTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Authorization",
                "If-Match",
                "X-Forwarded-For",
                "X_Forwarded_For",
                "X_REAL_IP",
                "x_request.id",
                "If_Match",
                "X-Url-Scheme",
                "Front_End_Https",
                "Weir_Probe"
            })
    void dropsFieldsOfHeadsInEverySpelling(String name) {
        assertThat(TrailerFields.belongsToHead(name)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"grpc-status", "grpc-message", "Server-Timing", "Digest", "X_Checksum", "X-Forward", "_host"})
    void keepsOtherFields(String name) {
        assertThat(TrailerFields.belongsToHead(name)).isFalse();
    }
}
