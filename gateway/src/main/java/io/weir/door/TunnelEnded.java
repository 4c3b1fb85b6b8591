package io.weir.door;

/** Ends Spring Cloud Gateway's chain behind a WebSocket: filters of answers are passed over, since the answer went long ago. */
final class TunnelEnded extends RuntimeException {

    private static final long serialVersionUID = 1;

    TunnelEnded() {
        super(null, null, false, false);
    }
}
