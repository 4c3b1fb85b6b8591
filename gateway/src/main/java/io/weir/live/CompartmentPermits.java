package io.weir.live;

import io.weir.health.Health;
import io.weir.limit.LimitInForce;
import io.weir.limit.QueueingBulkhead;

/**
 * The permits of a backend, as far as its health changes them.
 *
 * @param bulkhead the limit on concurrent calls
 * @param limitInForce the bulkhead's limit
 */
record CompartmentPermits(QueueingBulkhead bulkhead, LimitInForce limitInForce) implements Health.Permits {

    @Override
    public int limit() {
        return limitInForce.permits();
    }

    @Override
    public void limitChanged() {
        limitInForce.update();
    }

    @Override
    public void giveBack(int calls) {
        for (int i = 0; i < calls; i++) {
            bulkhead.release();
        }
    }
}
