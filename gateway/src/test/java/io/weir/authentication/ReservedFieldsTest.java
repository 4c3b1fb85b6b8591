package io.weir.authentication;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReservedFieldsTest {

    private static final ReservedFields FIELDS = Objects.requireNonNull(
            ReservedFields.of(new AuthenticationProperties(Map.of(), "X-Identity", ClientCertificateMode.LEAF)));

    @ParameterizedTest
    @ValueSource(
            strings = {
                "X-Identity",
                "x-identity",
                "X-IDENTITY",
                "X_Identity",
                "x_identity",
                "x.identity",
                "Client-Cert",
                "client_cert",
                "Client-Cert-Chain",
                "CLIENT_CERT_CHAIN"
            })
    void removesEverySpelling(String name) {
        HttpHeaders head =
                new DefaultHttpHeaders().add(name, "mallory").add(name, "again").add("Accept", "*/*");

        FIELDS.removeFrom(head);

        assertThat(head.names()).containsExactly("Accept");
    }

    @ParameterizedTest
    @ValueSource(strings = {"X-Identity2", "XIdentity", "Identity", "X-Identit", "Client-Certificate", "Cookie"})
    void leavesOtherFields(String name) {
        HttpHeaders head = new DefaultHttpHeaders().add(name, "value");

        FIELDS.removeFrom(head);

        assertThat(head.get(name)).isEqualTo("value");
    }

    @Test
    void areNoneUnlessConfigured() {
        assertThat(ReservedFields.of(AuthenticationProperties.none())).isNull();
    }
}
