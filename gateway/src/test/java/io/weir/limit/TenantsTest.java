package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TenantsTest {

    private static final Duration PERIOD = Duration.ofSeconds(Tenants.PERIOD_SECONDS);

    private long now = -1;
    private final Tenants tenants = new Tenants(TenantKey.of("client-address"), () -> now);

    @Test
    void showsTheTenLargestTenants() {
        for (int tenant = 1; tenant <= 12; tenant++) {
            for (int call = 0; call < tenant; call++) {
                tenants.count("t" + tenant, call % 2 == 0);
            }
        }

        Tenants.Figures figures = tenants.figures();

        assertThat(figures.count()).isEqualTo(12);
        assertThat(figures.isMore()).isFalse();
        assertThat(figures.largest())
                .hasSize(Tenants.SHOWN)
                .startsWith(new Tenants.Usage("t12", 6, 6), new Tenants.Usage("t11", 6, 5))
                .endsWith(new Tenants.Usage("t3", 2, 1));
    }

    @Test
    void countsThePresentAndTheLastPeriod() {
        tenants.count("a", true);
        now += PERIOD.toNanos();
        tenants.count("a", false);
        tenants.count("b", true);

        assertThat(tenants.figures().largest())
                .containsExactly(new Tenants.Usage("a", 1, 1), new Tenants.Usage("b", 1, 0));
        now += PERIOD.toNanos();
        assertThat(tenants.figures().largest())
                .containsExactly(new Tenants.Usage("a", 0, 1), new Tenants.Usage("b", 1, 0));
        now += PERIOD.toNanos();
        assertThat(tenants.figures().count()).isZero();
    }

    @Test
    void forgetsAPeriodThatEndedLongAgo() {
        tenants.count("a", true);
        now += 2 * PERIOD.toNanos();

        assertThat(tenants.figures().count()).isZero();
    }

    @Test
    void boundsTheNamesWhateverCallersSend() {
        for (int i = 0; i < 1_000_000; i++) {
            tenants.count("name-" + i, false);
            if (i % 10 == 0) {
                tenants.count("large", true);
            }
            now += 50_000;
        }

        Tenants.Figures figures = tenants.figures();

        assertThat(figures.count()).isBetween(Tenants.MAX_NAMES, 2 * Tenants.MAX_NAMES);
        assertThat(figures.isMore()).isTrue();
        assertThat(figures.largest())
                .hasSize(Tenants.SHOWN)
                .first()
                .extracting(Tenants.Usage::name)
                .isEqualTo("large");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "client", "header:", "X-Tenant", "claim:"})
    void refusesAnUnknownKey(String key) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> TenantKey.of(key))
                .withMessage("key: " + key + " (expected: client-address, header:NAME or claim:NAME)");
    }

    @Test
    void namesOfClaimsHaveACase() {
        assertThat(TenantKey.of("claim:Org.team").claim()).isEqualTo("Org.team");
        assertThat(TenantKey.of("claim:sub")).isEqualTo(new TenantKey(null, "sub"));
    }

    @Test
    void namesOfTenantsHaveABound() {
        assertThat(TenantKey.name("alice https://id.example")).isEqualTo("alice https://id.example");
        assertThat(TenantKey.name("x".repeat(6_000))).hasSize(128);
        assertThat(TenantKey.name(null)).isNull();
    }

    @Test
    void namesOfFieldsHaveNoCase() {
        assertThat(TenantKey.of("header:X-Tenant")).isEqualTo(TenantKey.of("header:x-tenant"));
    }
}
