package io.weir.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AddressRuleTest {

    @ParameterizedTest
    @CsvSource({
        "'',           '',           203.0.113.9,      true",
        "10.0.0.0/8,   '',           10.1.2.3,         true",
        "10.0.0.0/8,   '',           11.1.2.3,         false",
        "10.0.0.0/8,   '',           2001:db8::1,      false",
        "10.0.0.0/8,   '',           ::ffff:10.1.2.3,  true",
        "'',           192.0.2.0/24, 192.0.2.7,        false",
        "'',           192.0.2.0/24, 192.0.3.7,        true",
        "'',           2001:db8::/32, 2001:db8::7,     false",
        "10.0.0.0/8,   10.9.0.0/16,  10.8.0.1,         true",
        "10.0.0.0/8,   10.9.0.0/16,  10.9.0.1,         false",
        "'',           '',           ,                 true",
        "10.0.0.0/8,   '',           ,                 false",
        "0.0.0.0/0,    '',           ,                 false",
        "'',           10.0.0.0/8,   ,                 false",
    })
    void permitsAllowedAddressesThatAreNotDenied(String allow, String deny, @Nullable String address, boolean permitted)
            throws UnknownHostException {
        AddressRule rule = new AddressRule(new AccessProperties(networks(allow), networks(deny), true));

        assertThat(rule.permits(address == null ? null : InetAddress.getByName(address)))
                .isEqualTo(permitted);
    }

    @Test
    void rejectsAMalformedNetwork() {
        AccessProperties malformed = new AccessProperties(List.of(), List.of("office"), true);

        assertThatThrownBy(() -> new AddressRule(malformed))
                .hasMessageStartingWith("access.deny: office (expected: an IPv4 or IPv6 address, or a network");
    }

    private static List<String> networks(String network) {
        return network.isEmpty() ? List.of() : List.of(network);
    }
}
