package io.weir.authentication;

/** The part of the caller's TLS client certificate that backends receive. */
public enum ClientCertificateMode {
    /** Nothing. */
    NONE,
    /** The caller's own certificate. */
    LEAF,
    /** The caller's own certificate, and the other certificates that it has sent. */
    CHAIN
}
