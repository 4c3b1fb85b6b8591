package io.weir.limit;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.weir.limit.Limit.Evidence;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.openjdk.jcstress.infra.results.L_Result;

/** Concurrent samples of an adaptive limit. Outcomes that are not listed are forbidden. */
public final class AdaptiveLimitCollisions {

    private static final long MILLI = 1_000_000;

    private AdaptiveLimitCollisions() {}

    /** Two event loops report two samples each. */
    @JCStressTest
    @Outcome(id = "4", expect = ACCEPTABLE, desc = "Each sample was processed once.")
    @Outcome(id = "[0123]", expect = FORBIDDEN, desc = "A sample is lost.")
    @State
    public static class TwoLoopsBringSamples {
        private final AdaptiveLimit limit = new AdaptiveLimit(LimitBounds.DEFAULT, 800 * MILLI, 0, 0, () -> {});

        @Actor
        public void end() {
            limit.ended(50 * MILLI, limit.started(0, 1), 50 * MILLI, Evidence.ANSWERED, 2);
            limit.ended(51 * MILLI, limit.started(0, 1), 51 * MILLI, Evidence.ANSWERED, 2);
        }

        @Actor
        public void endToo() {
            limit.ended(50 * MILLI, limit.started(0, 2), 50 * MILLI, Evidence.ANSWERED, 2);
            limit.ended(51 * MILLI, limit.started(0, 2), 51 * MILLI, Evidence.TIMED_OUT, 2);
        }

        @Arbiter
        public void afterwards(L_Result r) {
            r.r1 = limit.samples();
        }
    }

    /** The limit changes while another loop reports a sample: the bulkhead has the last limit. */
    @JCStressTest
    @Outcome(id = "4, 4", expect = ACCEPTABLE, desc = "Three time-outs halve the limit of 8; the bulkhead follows.")
    @Outcome(id = "4, 8", expect = FORBIDDEN, desc = "The bulkhead missed the change.")
    @Outcome(id = "8, .*", expect = FORBIDDEN, desc = "A sample is lost: three time-outs in half a deadline.")
    @State
    public static class ChangeMeetsSample {
        private final QueueingBulkhead bulkhead = new QueueingBulkhead(8, 8);
        private final AdaptiveLimit limit =
                new AdaptiveLimit(new LimitBounds(4, 8, 8), 800 * MILLI, 0, 0, this::resize);

        /** The answer opens the window: without any answer, the first time-outs leave the initial limit. */
        public ChangeMeetsSample() {
            limit.ended(MILLI, 8, MILLI, Evidence.ANSWERED, 8);
            timeOut(801);
        }

        private void resize() {
            bulkhead.resize(limit.value(), 8);
        }

        private void timeOut(long at) {
            limit.ended(at * MILLI, 8, 800 * MILLI, Evidence.TIMED_OUT, 8);
        }

        @Actor
        public void timeOut() {
            timeOut(1_700);
        }

        @Actor
        public void timeOutToo() {
            timeOut(1_700);
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            r.r1 = limit.value();
            r.r2 = bulkhead.maxConcurrentCalls();
        }
    }
}
