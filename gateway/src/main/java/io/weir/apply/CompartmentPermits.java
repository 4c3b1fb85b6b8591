package io.weir.apply;

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
        // While an adaptive limit measures, it may be below its floor for a moment. One call that waits then
        // would be enough for a stall.
        int atRest = Math.max(limitInForce.permits(), limitInForce.min());
        return Math.min(atRest, limitInForce.operatorLimit());
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
