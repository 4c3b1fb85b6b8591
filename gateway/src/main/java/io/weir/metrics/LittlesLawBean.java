package io.weir.metrics;

import io.weir.limit.LittlesLaw;
import io.weir.limit.QueueingBulkhead;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/** Little's law and the bulkhead of one backend, for JMX. */
final class LittlesLawBean implements LittlesLawMXBean {

    private static final double NANOS_PER_MILLI = 1e6;

    private final LittlesLaw law;
    private final QueueingBulkhead bulkhead;

    LittlesLawBean(LittlesLaw law, QueueingBulkhead bulkhead) {
        this.law = law;
        this.bulkhead = bulkhead;
    }

    /** The object name of a backend's MXBean. */
    static ObjectName nameOf(String backend) {
        try {
            return new ObjectName("io.weir:type=Backend,name=" + backend);
        } catch (MalformedObjectNameException e) {
            throw new IllegalArgumentException("backend: " + backend + " (expected: 1 to 63 of a-z 0-9 -)", e);
        }
    }

    @Override
    public double getArrivalRate() {
        return law.figures().arrivalRate();
    }

    @Override
    public double getAverageServiceTimeMillis() {
        return law.figures().serviceNanos() / NANOS_PER_MILLI;
    }

    @Override
    public double getAverageWaitingTimeMillis() {
        return law.figures().waitingNanos() / NANOS_PER_MILLI;
    }

    @Override
    public double getAverageActive() {
        return law.figures().activeCalls();
    }

    @Override
    public double getAverageWaiting() {
        return law.figures().waitingCalls();
    }

    @Override
    public double getWaitingShare() {
        return law.figures().waitingShare();
    }

    @Override
    public long getRetiredRequests() {
        return law.figures().retired();
    }

    @Override
    public int getActive() {
        return bulkhead.inUse();
    }

    @Override
    public int getWaiting() {
        return bulkhead.queued();
    }

    @Override
    public int getLimit() {
        return bulkhead.maxConcurrentCalls();
    }

    @Override
    public double getUncongestedServiceTimeMillis() {
        return law.figures().uncongestedNanos() / NANOS_PER_MILLI;
    }

    @Override
    public int getSuggestedLimit() {
        return law.figures().suggestedLimit();
    }
}
