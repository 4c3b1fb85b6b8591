package io.weir.upstream;

/** What is spoken to a backend. */
public enum UpstreamProtocol {
    /** HTTP/1.1. */
    HTTP1,
    /** HTTP/2: with prior knowledge over clear text, by ALPN over TLS. */
    H2
}
