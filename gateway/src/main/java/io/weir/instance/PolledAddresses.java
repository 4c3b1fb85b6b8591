package io.weir.instance;

import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * Addresses that are looked up again and again: one look-up at a time, the next one an interval after the
 * answer.
 *
 * <p>A look-up that fails, takes too long, or finds no address keeps the last known addresses: the instances
 * are more likely to be there than DNS or the discovery is right. While none is known yet, {@link #addresses}
 * returns one {@linkplain InstanceAddress#unknown unknown} address, and the interval is at most a second.
 *
 * <p>Of more than {@value #MAX_ADDRESSES} addresses, the first ones in their order are used.
 */
// Concurrency: guarded by this, except that the figures are volatile. The action after a change runs on the
// scheduler, outside the monitor; it reads the addresses itself, so one run may serve two changes.
public final class PolledAddresses implements AddressSource {

    /** Finds the present addresses. */
    public interface Lookup {

        /** Begins a look-up. The answer may have any order, and duplicates. */
        Mono<List<InstanceAddress>> start();
    }

    /** The bound on the instances of a backend. */
    public static final int MAX_ADDRESSES = 256;

    private static final Logger log = LoggerFactory.getLogger(PolledAddresses.class);
    private static final Duration RETRY_INTERVAL = Duration.ofSeconds(1);
    private static final Comparator<InstanceAddress> ORDER =
            Comparator.comparing(address -> address.shown().toString());

    private final String subject;
    private final Lookup lookup;
    private final Duration timeout;
    private final Scheduler scheduler;
    private final LongSupplier nanoClock;
    private final CountDownLatch first = new CountDownLatch(1);
    private final Disposable.Swap lookupUnderWay = Disposables.swap();
    private final Disposable.Swap nextLookup = Disposables.swap();
    private volatile List<InstanceAddress> addresses;
    private volatile Runnable onChange = () -> {};
    private volatile Duration interval;
    private boolean isLookingUp;
    private boolean isRefreshDue;
    /** Whether the action has not applied the present addresses. */
    private boolean isChangeDue;

    private boolean isFailing;
    private long failingSince;
    private boolean isTooLong;
    private boolean isClosed;

    /**
     * A source that has not {@linkplain #start started}.
     *
     * @param subject names the look-up in the log, such as {@code DNS of backend orders}
     * @param placeholder the address that is returned while none is known
     * @param interval time between a look-up's answer and the next look-up
     * @param timeout time after which a look-up has failed
     * @param scheduler runs the look-ups and the actions after changes; an action may block
     * @param nanoClock {@link System#nanoTime}, except in tests
     */
    public PolledAddresses(
            String subject,
            InstanceAddress placeholder,
            Lookup lookup,
            Duration interval,
            Duration timeout,
            Scheduler scheduler,
            LongSupplier nanoClock) {
        this.subject = subject;
        this.addresses = List.of(placeholder);
        this.lookup = lookup;
        this.interval = interval;
        this.timeout = timeout;
        this.scheduler = scheduler;
        this.nanoClock = nanoClock;
    }

    /** Starts the first look-up. */
    public PolledAddresses start() {
        refresh();
        return this;
    }

    @Override
    public List<InstanceAddress> addresses() {
        return addresses;
    }

    @Override
    public boolean awaitFirst(Duration longest) {
        try {
            boolean isAnswered = first.await(longest.toNanos(), TimeUnit.NANOSECONDS);
            return isAnswered && isAnyKnown();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return isAnyKnown();
        }
    }

    @Override
    public void onChange(Runnable action) {
        onChange = action;
    }

    @Override
    public synchronized void repeatChange() {
        isChangeDue = true;
    }

    @Override
    public synchronized long staleNanos() {
        return isFailing ? nanoClock.getAsLong() - failingSince : 0;
    }

    @Override
    public void refresh() {
        synchronized (this) {
            if (isClosed) {
                return;
            }
            if (isLookingUp) {
                // The look-up under way may have read the old addresses.
                isRefreshDue = true;
                return;
            }
            isLookingUp = true;
        }
        // Before the look-up: its answer may arrive at once, and then schedules the next one.
        nextLookup.update(Disposables.disposed());
        Disposable.Swap started = Disposables.swap();
        lookupUnderWay.update(started);
        // The answer may have started the next look-up already, which must go on.
        started.update(Mono.defer(lookup::start)
                .subscribeOn(scheduler)
                .timeout(timeout, scheduler)
                .defaultIfEmpty(List.of())
                .subscribe(this::answered, this::failed));
    }

    @Override
    public void lookUpEvery(Duration next) {
        if (!next.equals(interval)) {
            interval = next;
            // The next look-up is scheduled after the former interval.
            refresh();
        }
    }

    private void answered(List<InstanceAddress> found) {
        if (found.isEmpty()) {
            failed(new UnknownHostException("no address"));
            return;
        }
        List<InstanceAddress> next;
        try {
            next = found.stream().distinct().sorted(ORDER).limit(MAX_ADDRESSES).toList();
        } catch (RuntimeException e) {
            failed(e);
            return;
        }
        reportTooMany(found.stream().distinct().count());
        boolean isChanged;
        boolean isDue;
        synchronized (this) {
            if (isClosed) {
                return;
            }
            isFailing = false;
            isChanged = !next.equals(addresses);
            if (isChanged) {
                log.info("{}: {} addresses (before: {}): {}", subject, next.size(), knownCount(), shown(next));
                addresses = next;
            }
            isDue = isChanged || isChangeDue;
            isChangeDue = false;
        }
        first.countDown();
        if (isDue) {
            runOnChange();
        }
        scheduleNext(interval);
    }

    private void runOnChange() {
        Runnable action = onChange;
        try {
            scheduler.schedule(() -> {
                try {
                    action.run();
                } catch (RuntimeException e) {
                    log.error("{}: the changed addresses could not be applied", subject, e);
                }
            });
        } catch (RuntimeException e) {
            log.debug("{}: the gateway has stopped", subject, e);
        }
    }

    private void reportTooMany(long found) {
        boolean isReported = isTooLong;
        isTooLong = found > MAX_ADDRESSES;
        if (isTooLong && !isReported) {
            log.warn("{}: {} addresses (expected: at most {}); the first ones are used", subject, found, MAX_ADDRESSES);
        }
    }

    private void failed(Throwable cause) {
        boolean isReported;
        synchronized (this) {
            if (isClosed) {
                return;
            }
            isReported = isFailing;
            if (!isReported) {
                failingSince = nanoClock.getAsLong();
            }
            isFailing = true;
        }
        if (!isReported) {
            log.warn("{} failed ({}); keeping {} addresses", subject, reason(cause), knownCount());
        }
        first.countDown();
        scheduleNext(isAnyKnown() || interval.compareTo(RETRY_INTERVAL) < 0 ? interval : RETRY_INTERVAL);
    }

    private static @Nullable String reason(Throwable cause) {
        return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    }

    private void scheduleNext(Duration after) {
        boolean isDue;
        synchronized (this) {
            isLookingUp = false;
            isDue = isRefreshDue;
            isRefreshDue = false;
            if (isClosed) {
                return;
            }
        }
        if (isDue) {
            refresh();
            return;
        }
        try {
            nextLookup.update(scheduler.schedule(this::refresh, after.toNanos(), TimeUnit.NANOSECONDS));
        } catch (RuntimeException e) {
            log.debug("{}: the gateway has stopped", subject, e);
        }
    }

    private boolean isAnyKnown() {
        return addresses.getFirst().isKnown();
    }

    private int knownCount() {
        return isAnyKnown() ? addresses.size() : 0;
    }

    private static String shown(List<InstanceAddress> all) {
        return String.join(
                ", ",
                all.stream().map(address -> address.shown().getRawAuthority()).toList());
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        lookupUnderWay.dispose();
        nextLookup.dispose();
    }
}
