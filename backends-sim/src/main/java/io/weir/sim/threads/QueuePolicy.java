package io.weir.sim.threads;

import io.weir.sim.threads.WorkPool.Job;
import java.util.concurrent.ThreadPoolExecutor;

/** The handling of a request that arrives while every worker is busy and the queue is full. */
enum QueuePolicy {
    /** The new request is refused with 503; waiting requests keep their place. */
    REJECT {
        @Override
        void onFull(Job job, ThreadPoolExecutor pool) {
            job.reject("every worker is busy and " + pool.getQueue().size() + " requests wait");
        }
    },
    /** The oldest waiting request is refused with 503, and the new request takes its place. */
    DISCARD_OLDEST {
        @Override
        void onFull(Job job, ThreadPoolExecutor pool) {
            // A worker may free a place at the same time.
            while (!pool.getQueue().offer(job)) {
                if (pool.getQueue().poll() instanceof Job oldest) {
                    oldest.discard("a newer request took the place of this one, the oldest in the queue");
                }
            }
        }
    },
    /** The calling thread does the work: callers slow down, and no request is refused. */
    CALLER_RUNS {
        @Override
        void onFull(Job job, ThreadPoolExecutor pool) {
            job.runByCaller();
        }
    };

    abstract void onFull(Job job, ThreadPoolExecutor pool);
}
