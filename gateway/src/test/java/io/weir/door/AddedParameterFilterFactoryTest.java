package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.cloud.gateway.filter.factory.AbstractNameValueGatewayFilterFactory.NameValueConfig;
import org.springframework.http.HttpMethod;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import reactor.core.publisher.Mono;

class AddedParameterFilterFactoryTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/a | b c | /a?added=b%20c",
                "/a? | b | /a?added=b",
                "/a?x=1 | b c | /a?x=1&added=b%20c",
                "/a?x=1& | b | /a?x=1&added=b",
                "/a?x=%20 | b c | /a?x=%20&added=b%20c",
                "/a?x[]=%20 | b&c=d%e#f | /a?x[]=%20&added=b%26c%3Dd%25e%23f",
                "/a%2Fb?x=? | é | /a%2Fb?x=?&added=%C3%A9",
            })
    void addsTheValueAsATextAndKeepsTheReceivedQuery(String received, String value, String expected) {
        AtomicReference<URI> passed = new AtomicReference<>();
        NameValueConfig config = new NameValueConfig().setName("added").setValue(value);

        new AddedParameterFilterFactory()
                .apply(config)
                .filter(
                        MockServerWebExchange.from(MockServerHttpRequest.method(
                                HttpMethod.GET, URI.create("http://shop.example" + received))),
                        exchange -> {
                            passed.set(exchange.getRequest().getURI());
                            return Mono.empty();
                        })
                .block();

        assertThat(passed.get()).hasToString("http://shop.example" + expected);
    }
}
