package io.weir.instance;

import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;

/** The protocol between the gateway and a backend. */
public enum UpstreamProtocol {
    /** HTTP/1.1. */
    HTTP1,
    /** HTTP/2: with prior knowledge over cleartext, by ALPN over TLS. */
    H2;

    /** Makes TLS offer HTTP/2 by ALPN. Without an offer a backend speaks HTTP/1.1, so HTTP/1.1 needs none. */
    public SslContextBuilder offeredBy(SslContextBuilder tls) {
        return this == HTTP1
                ? tls
                : tls.ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
                        .applicationProtocolConfig(new ApplicationProtocolConfig(
                                Protocol.ALPN,
                                SelectorFailureBehavior.NO_ADVERTISE,
                                SelectedListenerFailureBehavior.ACCEPT,
                                ApplicationProtocolNames.HTTP_2));
    }
}
