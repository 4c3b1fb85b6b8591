package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.ssl.SslProvider;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class TlsEngineTest {

    private static final String[] ALL_OF_1_3 = {
        "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"
    };

    private static @Nullable String mismatch(String @Nullable [] suites, String @Nullable [] versions) {
        return TlsEngine.mismatch(suites, versions, List.of("EC"));
    }

    /** On the platforms of the tests. */
    @Test
    void usesBoringSslUnlessTheJdksEngineIsConfigured() {
        assertThat(TlsEngine.loadFailure()).isNull();
        assertThat(TlsEngine.AUTO.inUse()).isEqualTo(TlsEngine.OPENSSL);
        assertThat(TlsEngine.OPENSSL.inUse()).isEqualTo(TlsEngine.OPENSSL);
        assertThat(TlsEngine.JDK.inUse()).isEqualTo(TlsEngine.JDK);
        assertThat(TlsEngine.JDK.forServer()).isEqualTo(SslProvider.JDK);
        assertThat(TlsEngine.JDK.forClient()).isEqualTo(SslProvider.JDK);
    }

    @Test
    void hasAllSuitesOf13OrNone() {
        assertThat(mismatch(ALL_OF_1_3, null)).isNull();
        assertThat(mismatch(new String[] {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"}, null))
                .isNull();
        assertThat(mismatch(new String[] {ALL_OF_1_3[0]}, null)).contains("1.3");
        assertThat(mismatch(new String[] {ALL_OF_1_3[0]}, new String[] {"TLSv1.2"}))
                .isNull();
    }

    @Test
    void keepsNoRulesThatOnlyTheJdkKeeps() {
        assertThat(mismatch(null, null)).isNull();
        assertThat(mismatch(null, new String[] {"TLSv1.3", "TLSv1.1"})).contains("before 1.2");
        assertThat(mismatch(new String[] {"TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"}, null))
                .contains("does not have");
        assertThat(TlsEngine.mismatch(null, null, List.of("EC", "EC"))).isNull();
        assertThat(TlsEngine.mismatch(null, null, List.of("EC", "RSA"))).contains("several types");
        assertThat(TlsEngine.mismatch(null, null, List.of("EdDSA"))).contains("neither RSA nor EC");
    }
}
