package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The hash that tells callers apart. */
class CallerHashTest {

    private int hash(String address) {
        ExchangeFixture fixture = new ExchangeFixture();
        fixture.caller.address = address;
        return CallerHash.of(new ExchangeRecord(fixture.route(), fixture.caller, 0));
    }

    @Test
    void tellsIpv4AddressesApart() {
        assertThat(hash("192.0.2.1")).isEqualTo(hash("192.0.2.1")).isNotEqualTo(hash("192.0.2.2"));
    }

    @Test
    void takesAnIpv6NetworkForOneCaller() {
        assertThat(hash("2001:db8::1")).isEqualTo(hash("2001:db8::2")).isNotEqualTo(hash("2001:db8:1::1"));
    }

    @Test
    void takesTheTenantWhereTheBackendHasThem() {
        ExchangeFixture fixture = new ExchangeFixture().withTenant("acme");
        assertThat(CallerHash.of(new ExchangeRecord(fixture.route(), fixture.caller, 0)))
                .isEqualTo("acme".hashCode());
    }
}
