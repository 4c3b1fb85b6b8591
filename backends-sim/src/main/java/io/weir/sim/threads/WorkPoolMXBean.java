package io.weir.sim.threads;

/** The pool behind {@code /work}. Rates and averages cover the last window. */
public interface WorkPoolMXBean {

    /** Threads of the pool. */
    int getWorkers();

    /** Threads that work now. */
    int getBusyWorkers();

    /** Requests that wait now. */
    int getQueueLength();

    /** λ: accepted requests per second. */
    double getArrivalRate();

    /** Milliseconds that a worker spends on a request. */
    double getAverageServiceTimeMillis();

    /** Milliseconds that a request waits for a worker. */
    double getAverageTimeInQueueMillis();

    /** W: milliseconds from a request's arrival to its answer. */
    double getAverageResponseTimeMillis();

    /** L = λ · W: average number of requests that wait or are in work. */
    double getAverageActiveRequests();

    /** Share of the response time that is spent waiting for a worker, 0 to 1. */
    double getRatioOfDeadTimeToResponseTime();

    /** L divided by the number of processors. */
    double getRatioOfActiveRequestsToCores();

    /** Requests served since the start. */
    long getRetiredRequests();

    /** Requests refused since the start because the queue was full. */
    long getRejectedRequests();

    /** Requests discarded since the start in favour of newer requests. */
    long getDiscardedRequests();

    /** Requests served since the start by the calling thread. */
    long getRequestsRunByCaller();
}
