package io.weir.door;

/**
 * Ends Spring Cloud Gateway's chain after a WebSocket, and skips its response filters: the response was sent
 * when the WebSocket opened.
 */
final class TunnelClosedException extends RuntimeException {

    private static final long serialVersionUID = 1;

    TunnelClosedException() {
        super(null, null, false, false);
    }
}
