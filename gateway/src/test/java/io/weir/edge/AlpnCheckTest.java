package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import org.junit.jupiter.api.Test;

class AlpnCheckTest {

    private static final Set<String> KNOWN = Set.of("h2", "http/1.1");
    private static final int RECORD_AND_HANDSHAKE_HEADER = 9;

    /** The first message of the JDK's own client. */
    private static ByteBuf hello(String... protocols) throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, null, null);
        SSLEngine engine = context.createSSLEngine("shop.test", 443);
        engine.setUseClientMode(true);
        SSLParameters parameters = engine.getSSLParameters();
        parameters.setApplicationProtocols(protocols);
        engine.setSSLParameters(parameters);
        ByteBuffer out = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
        engine.wrap(ByteBuffer.allocate(0), out);
        out.flip();
        return Unpooled.wrappedBuffer(out).skipBytes(RECORD_AND_HANDSHAKE_HEADER);
    }

    @Test
    void passesClientsWithAKnownProtocolOrWithoutAlpn() throws Exception {
        assertThat(AlpnCheck.offersKnown(hello("h2", "http/1.1"), KNOWN)).isTrue();
        assertThat(AlpnCheck.offersKnown(hello("spdy/3", "http/1.1"), KNOWN)).isTrue();
        assertThat(AlpnCheck.offersKnown(hello(), KNOWN)).isTrue();
    }

    @Test
    void refusesClientsWithUnknownProtocolsOnly() throws Exception {
        assertThat(AlpnCheck.offersKnown(hello("imap"), KNOWN)).isFalse();
        assertThat(AlpnCheck.offersKnown(hello("h3", "acme-tls/1"), KNOWN)).isFalse();
        assertThat(AlpnCheck.offersKnown(hello("h2"), Set.of("http/1.1"))).isFalse();
    }

    @Test
    void leavesMalformedMessagesToTls() throws Exception {
        ByteBuf hello = hello("imap");
        int whole = hello.readableBytes();
        for (int length = 0; length < whole; length += 7) {
            assertThat(AlpnCheck.offersKnown(hello.slice(hello.readerIndex(), length), KNOWN))
                    .as("%s bytes", length)
                    .isTrue();
        }
    }
}
