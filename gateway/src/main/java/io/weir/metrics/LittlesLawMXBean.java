package io.weir.metrics;

/**
 * Little's law for one backend, over JMX as {@code io.weir:type=Backend,name=<name>}, in the terms that
 * operators of thread pools know.
 *
 * <p>Averages are over {@code weir.littles-law.window}; times are in milliseconds.
 */
public interface LittlesLawMXBean {

    /** Calls that the backend serves per second. */
    double getArrivalRate();

    /** Mean time of a call in the backend. */
    double getAverageServiceTimeMillis();

    /** Mean time of a call in the queue. */
    double getAverageWaitingTimeMillis();

    /** Mean number of concurrent calls in the backend: arrival rate × service time. */
    double getAverageActive();

    /** Mean number of calls in the queue: arrival rate × waiting time. */
    double getAverageWaiting();

    /** Share of the response time that a call spends in the queue (the dead-time ratio); 0 to 1. */
    double getWaitingShare();

    /** Calls served since the start. */
    long getRetiredRequests();

    /** Calls in the backend now. */
    int getActive();

    /** Calls in the queue now. */
    int getWaiting();

    /** Limit of concurrent calls in the backend, in force. */
    int getLimit();

    /** Mean time of a call in the backend without congestion, with auto its base latency; 0: not known. */
    double getUncongestedServiceTimeMillis();

    /** With auto, its limit; else the limit that the present calls need; 0: not known, or too few calls. */
    int getSuggestedLimit();
}
