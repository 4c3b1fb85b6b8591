package io.weir.sim.threads;

import io.weir.sim.threads.WorkPool.Job;
import java.util.concurrent.ThreadPoolExecutor;

/** What a pool does with a request that comes while every worker is busy and the queue is full. */
enum QueuePolicy {
    /** It is refused with 503; those who wait keep their place. */
    REJECT {
        @Override
        void full(Job job, ThreadPoolExecutor pool) {
            job.refuse("rejected", "every worker is busy and " + pool.getQueue().size() + " requests wait");
        }
    },
    /** It takes the place of the one who has waited longest, who is refused with 503: the newest are served. */
    DISCARD_OLDEST {
        @Override
        void full(Job job, ThreadPoolExecutor pool) {
            // Workers take from the queue meanwhile, so the place may be free by itself.
            while (!pool.getQueue().offer(job)) {
                if (pool.getQueue().poll() instanceof Job oldest) {
                    oldest.refuse("discarded", "a newer request took the place of this one, the oldest in the queue");
                }
            }
        }
    },
    /** The thread that brought it does the work: callers slow down, and nobody is refused. */
    CALLER_RUNS {
        @Override
        void full(Job job, ThreadPoolExecutor pool) {
            job.runByCaller();
        }
    };

    abstract void full(Job job, ThreadPoolExecutor pool);
}
