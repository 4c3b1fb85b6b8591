package io.weir.probe;

import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.faults.ActiveFaults;
import io.weir.faults.InjectedFault;
import io.weir.health.Probe;
import io.weir.instance.Instance;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Applies injected faults to the gateway's own requests: probes and health checks. Otherwise these would find
 * a backend healthy that hangs for its callers.
 */
public final class InjectedProbe {

    private InjectedProbe() {}

    /**
     * Sends a probe, or applies its fault instead.
     *
     * @param fault null: none
     * @param isGood whether an answer with this status is good
     * @param loop schedules the end of a probe that hangs
     * @param nanoClock the clock of the instance's health
     */
    public static void send(
            @Nullable InjectedFault fault,
            ProbeRequest.Sender sender,
            Instance instance,
            ProbeRequest request,
            Probe probe,
            IntPredicate isGood,
            EventLoop loop,
            LongSupplier nanoClock) {
        if (fault == null) {
            sender.send(instance, request, probe);
            return;
        }
        switch (fault.type()) {
            case ABORT -> {
                if (isGood.test(fault.order().status())) {
                    probe.answered(nanoClock.getAsLong());
                } else {
                    probe.failed();
                }
            }
            case RESET -> probe.failed();
            case HANG -> giveUpLater(probe, loop);
            case LATENCY -> {
                long latencyNanos = latencyNanos(fault);
                if (latencyNanos < probe.patienceNanos()) {
                    later(loop, () -> sender.send(instance, request, probe), latencyNanos);
                } else {
                    giveUpLater(probe, loop);
                }
            }
            case TRUNCATE -> throw new IllegalStateException("fault: truncate (expected: one before the body)");
        }
    }

    /** The fault of a probe that is no copy of a caller's request; null: none. */
    static @Nullable InjectedFault choose(
            Supplier<@Nullable ActiveFaults> faults, String backend, Instance instance, HttpHeaders head, long now) {
        ActiveFaults active = faults.get();
        return active == null ? null : active.choose(null, backend, instance.shownAddress(), head, true, now);
    }

    /**
     * A sender of health checks that applies the faults of a backend.
     *
     * @param faults the active faults; null: none
     * @param isGood whether a status is the expected one
     * @param loop schedules the latency of a check
     */
    static ProbeRequest.CheckSender checks(
            ProbeRequest.CheckSender sender,
            Supplier<@Nullable ActiveFaults> faults,
            String backend,
            IntPredicate isGood,
            EventLoop loop,
            LongSupplier nanoClock) {
        return (instance, request, outcome) -> {
            InjectedFault fault = choose(faults, backend, instance, request.head(), nanoClock.getAsLong());
            if (fault == null) {
                return sender.send(instance, request, outcome);
            }
            return switch (fault.type()) {
                case ABORT -> {
                    if (isGood.test(fault.order().status())) {
                        outcome.good();
                    } else {
                        outcome.bad("answered " + fault.order().status() + " by " + fault.label());
                    }
                    yield () -> {};
                }
                case RESET -> {
                    outcome.failed(new IOException("connection reset by " + fault.label()));
                    yield () -> {};
                }
                // Its time-out ends it.
                case HANG -> () -> {};
                case LATENCY -> new LateCheck(sender, instance, request, outcome).start(loop, latencyNanos(fault));
                case TRUNCATE -> throw new IllegalStateException("fault: truncate (expected: one before the body)");
            };
        };
    }

    private static long latencyNanos(InjectedFault fault) {
        Duration latency = fault.order().latency();
        return latency == null ? 0 : latency.toNanos();
    }

    private static void giveUpLater(Probe probe, EventLoop loop) {
        later(loop, probe::failed, probe.patienceNanos());
    }

    @SuppressWarnings("FutureReturnValueIgnored") // Only the end of the event loop cancels it.
    private static void later(EventLoop loop, Runnable task, long nanos) {
        loop.schedule(task, nanos, TimeUnit.NANOSECONDS);
    }

    /** A check that is sent after a latency. Confined to the event loop of the checks. */
    private static final class LateCheck {

        private final ProbeRequest.CheckSender sender;
        private final Instance instance;
        private final ProbeRequest request;
        private final ProbeRequest.Outcome outcome;
        private boolean isGivenUp;
        private Runnable giveUpSent = () -> {};

        LateCheck(
                ProbeRequest.CheckSender sender,
                Instance instance,
                ProbeRequest request,
                ProbeRequest.Outcome outcome) {
            this.sender = sender;
            this.instance = instance;
            this.request = request;
            this.outcome = outcome;
        }

        Runnable start(EventLoop loop, long latencyNanos) {
            later(
                    loop,
                    () -> {
                        if (!isGivenUp) {
                            giveUpSent = sender.send(instance, request, outcome);
                        }
                    },
                    latencyNanos);
            return () -> {
                isGivenUp = true;
                giveUpSent.run();
            };
        }
    }
}
