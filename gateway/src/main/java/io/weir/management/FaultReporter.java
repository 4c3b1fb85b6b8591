package io.weir.management;

import io.weir.faults.FaultScope;
import io.weir.faults.InjectedFault;
import io.weir.faults.InjectedFaults;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes the beginning and the end of each injected fault to the log and to the recent events. */
public final class FaultReporter implements InjectedFaults.Listener {

    private static final Logger log = LoggerFactory.getLogger(FaultReporter.class);

    private final RecentEvents recentEvents;

    /** A reporter of faults. */
    public FaultReporter(RecentEvents recentEvents) {
        this.recentEvents = recentEvents;
    }

    @Override
    public void started(InjectedFault fault) {
        log.warn(
                "Fault {} injected by {}: {}, until {}",
                fault.number(),
                fault.by(),
                fault.order().description(),
                fault.endsAt());
        add(RecentEvents.Kind.FAULT_STARTED, fault, "started", fault.by());
    }

    @Override
    public void ended(InjectedFault fault, @Nullable String by) {
        log.warn(
                "Fault {} ended {}: {}, injected into {} calls",
                fault.number(),
                by == null ? "after its time" : "by " + by,
                fault.order().description(),
                fault.calls());
        add(RecentEvents.Kind.FAULT_ENDED, fault, "ended", by);
    }

    private void add(RecentEvents.Kind kind, InjectedFault fault, String verb, @Nullable String by) {
        FaultScope scope = fault.order().scope();
        recentEvents.add(
                kind, scope.backend(), "Fault " + verb + ": " + fault.order().description(), by);
    }
}
