package io.weir.metrics;

/**
 * Little's law for one backend, over JMX as {@code io.weir:type=Backend,name=<name>}, as operators of thread pools know
 * it.
 *
 * <p>Averages are those of {@code weir.littles-law.window}; times are in milliseconds.
 */
public interface LittlesLawMXBean {

    /** Calls that the backend serves per second. */
    double getArrivalRate();

    /** Mean time in the backend. */
    double getAverageServiceTimeMillis();

    /** Mean time in the queue. */
    double getAverageWaitingTimeMillis();

    /** Calls in the backend at once: arrival rate times service time. */
    double getAverageActive();

    /** Calls in the queue at once: arrival rate times waiting time. */
    double getAverageWaiting();

    /** The share of the response time that is spent waiting: the dead-time ratio; 0 to 1. */
    double getWaitingShare();

    /** Calls served since the start. */
    long getRetiredRequests();

    /** Calls in the backend now. */
    int getActive();

    /** Calls in the queue now. */
    int getWaiting();

    /** Calls that may be in the backend at once. */
    int getLimit();

    /** Mean time in the backend when it was calmest of late; 0 while it is not known. */
    double getUncongestedServiceTimeMillis();

    /** Calls at once that would do, with headroom; 0 while it is not known. */
    int getSuggestedLimit();
}
