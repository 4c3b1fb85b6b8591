package io.weir.metrics;

import io.weir.limit.LittlesLaw;
import io.weir.limit.QueueingBulkhead;
import java.util.function.Supplier;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/** Little's law and the bulkhead of one backend, for JMX. */
final class LittlesLawBean implements LittlesLawMXBean {

    private static final double NANOS_PER_MILLI = 1e6;

    private final Supplier<LittlesLaw.Figures> figures;
    private final QueueingBulkhead bulkhead;

    LittlesLawBean(Supplier<LittlesLaw.Figures> figures, QueueingBulkhead bulkhead) {
        this.figures = figures;
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
        return figures.get().arrivalRate();
    }

    @Override
    public double getAverageServiceTimeMillis() {
        return figures.get().serviceNanos() / NANOS_PER_MILLI;
    }

    @Override
    public double getAverageWaitingTimeMillis() {
        return figures.get().waitingNanos() / NANOS_PER_MILLI;
    }

    @Override
    public double getAverageActive() {
        return figures.get().activeCalls();
    }

    @Override
    public double getAverageWaiting() {
        return figures.get().waitingCalls();
    }

    @Override
    public double getWaitingShare() {
        return figures.get().waitingShare();
    }

    @Override
    public long getRetiredRequests() {
        return figures.get().retired();
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
        return figures.get().uncongestedNanos() / NANOS_PER_MILLI;
    }

    @Override
    public int getSuggestedLimit() {
        return figures.get().suggestedLimit();
    }
}
