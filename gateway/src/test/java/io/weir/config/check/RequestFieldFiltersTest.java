package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.cloud.gateway.filter.factory.AbstractGatewayFilterFactory.NameConfig;
import org.springframework.cloud.gateway.filter.factory.AbstractNameValueGatewayFilterFactory.NameValueConfig;

class RequestFieldFiltersTest {

    private static ValidDefinition filter(String name, String field) {
        Object config;
        if (name.startsWith("Remove")) {
            NameConfig one = new NameConfig();
            one.setName(field);
            config = one;
        } else {
            config = new NameValueConfig().setName(field).setValue("1");
        }
        return new ValidDefinition(
                new Definition(name, Map.of(), null, "filters[0]", SourceLocation.outsideFiles("test")), config);
    }

    @ParameterizedTest
    @CsvSource({
        "AddRequestHeader, X-Request-Id",
        "SetRequestHeader, x-request-timeout",
        "RemoveRequestHeader, X-Request-Id",
        "AddRequestHeader, Host",
        "AddRequestHeader, Connection",
        "SetRequestHeader, Content-Length",
        "SetRequestHeader, transfer-encoding",
        "SetRequestHeader, Expect",
        "SetRequestHeader, Proxy-Authorization"
    })
    void aFieldThatTheGatewayWritesLastIsAProblem(String name, String field) {
        assertThat(RequestFieldFilters.problem(filter(name, field), "orders")).isNotNull();
    }

    @ParameterizedTest
    @CsvSource({
        "AddRequestHeader, X-A",
        "SetRequestHeader, Host",
        "RemoveRequestHeader, Host",
        "RemoveRequestHeader, Connection",
        "RemoveRequestHeader, Content-Length",
        "RemoveRequestHeader, Expect",
        "SetRequestHeader, TE",
        "SetRequestHeader, X-Forwarded-Host",
        "SetRequestHeader, Via",
        "SetResponseHeader, X-Request-Id",
        "AddResponseHeader, Connection"
    })
    void anyOtherFieldIsNone(String name, String field) {
        assertThat(RequestFieldFilters.problem(filter(name, field), "orders")).isNull();
    }

    @Test
    void aHostIsLostUnlessAFilterPreservesIt() {
        ValidDefinition host = filter("SetRequestHeader", "HOST");
        ValidDefinition other = filter("SetRequestHeader", "X-A");

        assertThat(RequestFieldFilters.lostHosts(List.of(other, host))).containsExactly(host);
        assertThat(RequestFieldFilters.lostHosts(List.of(other, filter("RemoveRequestHeader", "Host"))))
                .isEmpty();
        assertThat(RequestFieldFilters.lostHosts(List.of(host, filter("PreserveHostHeader", ""))))
                .isEmpty();
        assertThat(RequestFieldFilters.lostHosts(List.of(filter("SetRequestHostHeader", ""), host)))
                .isEmpty();
    }
}
