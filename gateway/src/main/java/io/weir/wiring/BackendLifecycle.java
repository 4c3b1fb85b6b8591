package io.weir.wiring;

import io.weir.apply.LiveBackends;
import org.springframework.context.SmartLifecycle;

/**
 * Ends the look-ups, the probers and the health checks of all backends when the gateway ends: after the
 * servers, and before the event loops, which Spring ends in phase 0.
 */
final class BackendLifecycle implements SmartLifecycle {

    private final LiveBackends backends;
    private volatile boolean isRunning;

    BackendLifecycle(LiveBackends backends) {
        this.backends = backends;
    }

    @Override
    public void start() {
        isRunning = true;
    }

    @Override
    public void stop() {
        isRunning = false;
        backends.close();
    }

    @Override
    public boolean isRunning() {
        return isRunning;
    }

    @Override
    public int getPhase() {
        return 1;
    }
}
