package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AllowedHostsTest {

    private final AllowedHosts byDefault = new AllowedHosts(List.of());
    private final AllowedHosts configured =
            new AllowedHosts(List.of("weir-gateways", "Ops.Example.com", "*.svc.cluster.local"));

    @ParameterizedTest
    @ValueSource(
            strings = {
                "localhost",
                "localhost:8081",
                "LOCALHOST:8081",
                "localhost.:8081",
                "weir.localhost:8081",
                "127.0.0.1:8081",
                "10.1.2.3:8081",
                "[::1]:8081",
                "[2001:db8::7]"
            })
    void permitsNamesThatDnsCannotPointElsewhere(String host) {
        assertThat(byDefault.permit(List.of(host))).isTrue();
        assertThat(configured.permit(List.of(host))).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "rebound.example:8081",
                "127.0.0.1.rebound.example:8081",
                "localhost.rebound.example",
                "notlocalhost:8081",
                "10.1.2.3.4.5",
                "weir-gateways.rebound.example",
                "svc.cluster.local.rebound.example",
                ".svc.cluster.local",
                "svc.cluster.local",
                "localhost:8081@rebound.example",
                ""
            })
    void refusesEveryOtherName(String host) {
        assertThat(byDefault.permit(List.of(host))).isFalse();
        assertThat(configured.permit(List.of(host))).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "weir-gateways:8081",
                "ops.example.com",
                "OPS.example.com.:443",
                "weir-gateways.weir.svc.cluster.local:8081"
            })
    void permitsConfiguredNames(String host) {
        assertThat(byDefault.permit(List.of(host))).isFalse();
        assertThat(configured.permit(List.of(host))).isTrue();
    }

    @Test
    void requiresOneValueAndEachOfSeveral() {
        assertThat(byDefault.permit(List.of("localhost", "rebound.example"))).isFalse();
        assertThat(byDefault.permit(List.of("localhost, rebound.example"))).isFalse();
        assertThat(byDefault.permit(List.of())).isFalse();
    }
}
