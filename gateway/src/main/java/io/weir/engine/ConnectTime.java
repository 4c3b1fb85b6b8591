package io.weir.engine;

/**
 * The time that an attempt has to connect. The connect time-out applies to each address of the backend's
 * name, one after the other, and the pool enforces it. Together with DNS and TLS, all addresses get half of
 * the time that is left to the exchange, but at least the connect time-out. So an address that never answers
 * leaves time for the next one.
 */
// Concurrency: confined to the exchange's event loop.
final class ConnectTime {

    private final ExchangeContext exchange;
    private final Backend backend;
    private final long startedAt;
    private boolean isGrantedAgain;
    /** The end of the second time; without one: 0. */
    private long grantedUntil;

    ConnectTime(ExchangeContext exchange, long startedAt) {
        this.exchange = exchange;
        this.backend = exchange.record().backend();
        this.startedAt = startedAt;
    }

    /** Time left to connect. */
    long leftNanos(long now) {
        return (isGrantedAgain ? grantedUntil : startedAt + nanos(startedAt)) - now;
    }

    private long nanos(long begunAt) {
        return Math.max(
                backend.settings().connectTimeoutNanos(), exchange.timer().leftNanos(begunAt) / 2);
    }

    /**
     * Grants the connect time-out again, once, if the gateway itself has paused meanwhile: after a pause, a
     * timer may fire before the event loop reads that the connection is established.
     */
    boolean grantAgain(HealthEvidence evidence, long now) {
        if (isGrantedAgain || !evidence.sawPause(now)) {
            return false;
        }
        isGrantedAgain = true;
        grantedUntil = now + backend.settings().connectTimeoutNanos();
        return true;
    }

    /** The time to connect begins only now, after an injected latency. */
    void restart(long now) {
        isGrantedAgain = true;
        grantedUntil = now + nanos(now);
    }
}
