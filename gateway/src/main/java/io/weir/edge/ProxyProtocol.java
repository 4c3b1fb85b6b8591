package io.weir.edge;

/** Whether balancers put a header of the PROXY protocol in front of a connection's bytes. */
public enum ProxyProtocol {
    /** A header is a malformed request, from every peer. */
    OFF,
    /**
     * A trusted proxy may send one; a header from any other peer is a malformed request. Only for the change
     * to {@link #REQUIRED}: if a balancer sends none, its callers can send one and so choose their address.
     */
    OPTIONAL,
    /** Only trusted proxies may connect, and each connection begins with one. */
    REQUIRED
}
