package io.weir.perf.jmh;

import io.weir.health.Health;

/** No permits: for a breaker that asks for none. */
final class NoPermits implements Health.Permits {

    @Override
    public int limit() {
        return 1;
    }

    @Override
    public void limitChanged() {}

    @Override
    public void giveBack(int calls) {}
}
