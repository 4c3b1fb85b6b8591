package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SecretMaskingTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "weir.management.token | hunter2 | ******",
                "weir.management.tokn | hunter2 | ******",
                "weir.tracing.headers.x-scope | hunter2 | ******",
                "weir.tracing.headers.authorization | Bearer hunter2 | ******",
                "weir.tracing.endpoint | http://collector:4318/v1/traces | http://collector:4318/v1/traces",
                "weir.backends.orders.uri | http://user:hunter2@orders:8080 | http://******@orders:8080",
                "weir.backends.orders.uri | http://user:hunter/2@orders:8080 | http://******@orders:8080",
                "weir.backends.orders.uri | http://user:hunter#2?@orders:8080 | http://******@orders:8080",
                "server.ssl.key-store-password | hunter2 | ******",
                "server.ssl.key-store | keys.p12 | keys.p12",
                "spring.ssl.bundle.jks.a.key.password | hunter2 | ******",
                "spring.ssl.bundle.pem.a.keystore.private-key | MIIhunter2 | ******",
                "spring.ssl.bundle.pem.a.keystore.certificate | -----BEGIN CERTIFICATE----- | -----BEGIN CERTIFICATE-----",
                "server.ssl.certificate-private-key | hunter2 | ******",
                "encrypt.key | hunter2 | ******",
                "weir.backends.orders.fairness.key | header:X-Tenant | header:X-Tenant",
                "weir.routes.orders.max-concurrent-per-key.key | claim:sub | claim:sub",
                "weir.backends.orders.fairnes.key | header:X-Tenant | ******",
                "a.pem | -----BEGIN EC PRIVATE KEY----- hunter2 | ******",
                "routes[0].uri | http://a/b?access_token=hunter2&c=d | http://a/b?access_token=******&c=d",
                "routes[0].filters[0] | AddRequestHeader=Authorization, Basic aHVudGVyMg== | AddRequestHeader=Authorization, ******",
                "routes[0].filters[0] | SetRequestHeader=X-Auth, hunter2 | SetRequestHeader=X-Auth, ******",
                "routes[0].filters[0] | AddRequestHeader=Ocp-Apim-Subscription-Key, hunter2 | AddRequestHeader=Ocp-Apim-Subscription-Key, ******",
                "routes[0].filters[0] | AddRequestHeader=X-Upstream, Bearer aHVudGVyMg== | AddRequestHeader=X-Upstream, ******",
                "routes[0].filters[0] | AddRequestHeader=X-Site, hunter2 | AddRequestHeader=X-Site, ******",
                "routes[0].filters[0] | SetRequestHeader=X-Site,hunter2 | SetRequestHeader=X-Site,******",
                "routes[0].filters[0] | AddRequestParameter=site, hunter2 | AddRequestParameter=site, ******",
                "routes[0].filters[0] | AddRequestHeadersIfNotPresent=X-Site:hunter2,X-Colour:blue | AddRequestHeadersIfNotPresent=******",
                "routes[0].filters[0] | AddRequestHeader=X-Site | AddRequestHeader=X-Site",
                "routes[0].filters[0] | RemoveRequestHeader=X-Site | RemoveRequestHeader=X-Site",
                "routes[0].filters[0] | AddResponseHeader=X-Colour, blue | AddResponseHeader=X-Colour, blue",
                "routes[0].filters[0] | SetResponseHeader=X-Session, hunter2 | SetResponseHeader=******",
                "routes[0].filters[0] | SetPath=/authors | SetPath=/authors",
                "routes[0].predicates[0] | Path=/authors/** | Path=/authors/**",
                "routes[0].predicates[0] | Header=Idempotency-Key | Header=Idempotency-Key",
                "routes[0].metadata.api-key | hunter2 | ******",
            })
    void masksSecrets(String path, String value, String shown) {
        assertThat(SecretMasking.mask(path, value)).isEqualTo(shown);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "routes[0].filters[0] | AddRequestHeader=X-Upstream, ${UPSTREAM_TOKEN} | AddRequestHeader=X-Upstream, hunter2 | AddRequestHeader=******",
                "routes[0].uri | ${SECRET_PLACE:nowhere} | http://hunter2 | ******",
                "routes[0].uri | http://${USER}:${PW}@orders | http://me:hunter2@orders | http://******@orders",
                "routes[0].uri | http://${HOST} | http://orders | http://orders",
            })
    void masksSecretsOfPlaceholders(String path, String written, String value, String shown) {
        assertThat(SecretMasking.mask(path, written, value)).isEqualTo(shown);
    }
}
