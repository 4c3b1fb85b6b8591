package io.weir.sim.threads;

/** The pool behind {@code /work}, as operators of thread pools know it. Rates and averages are of the last window. */
public interface WorkPoolMXBean {

    /** Threads. */
    int getWorkers();

    /** Threads at work now. */
    int getBusyWorkers();

    /** Requests that wait now. */
    int getQueueLength();

    /** λ: requests a second that were let in. */
    double getArrivalRate();

    /** Milliseconds a worker spends on a request. */
    double getAverageServiceTimeMillis();

    /** Milliseconds a request waits for a worker. */
    double getAverageTimeInQueueMillis();

    /** W: milliseconds from a request's arrival to its retirement. */
    double getAverageResponseTimeMillis();

    /** L = λ · W: requests that are waiting or at work, on average. */
    double getAverageActiveRequests();

    /** How much of the response time is waiting for a worker, 0 to 1. */
    double getRatioOfDeadTimeToResponseTime();

    /** L beside the machine's cores. */
    double getRatioOfActiveRequestsToCores();

    /** Requests served since the start. */
    long getRetiredRequests();

    /** Requests refused since the start because the queue was full. */
    long getRejectedRequests();

    /** Requests discarded since the start in favour of newer ones. */
    long getDiscardedRequests();

    /** Requests served since the start by the threads that brought them. */
    long getRequestsRunByCaller();
}
