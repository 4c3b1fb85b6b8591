package io.weir.cluster;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The number of gateways, their addresses and this gateway's rank, according to DNS.
 *
 * <p>The count resolves a name with an address for each gateway, reports a changed membership to its
 * listener, and resolves the name again one refresh interval after the answer. A failed lookup keeps the
 * membership. Before the first answer, the listener uses its own assumption. No failure ends the refreshes.
 * If the listener fails, it is notified again at the next refresh.
 */
// Concurrency: all state is confined to the resolver's thread, except the figures that other threads read.
public final class GatewayCount implements AutoCloseable {

    /** Resolves the addresses of all gateways. */
    interface Dns extends AutoCloseable {

        /** The thread on which lookups complete. */
        EventExecutor thread();

        /** Looks up the addresses: one per gateway, or one per gateway and address family. */
        Future<List<InetAddress>> addresses();

        @Override
        void close();
    }

    private static final Logger log = LoggerFactory.getLogger(GatewayCount.class);

    /** A start waits for the first answer until this time after the first query: two queries. */
    static final Duration FIRST_TIMEOUT = ClusterDns.QUERY_TIMEOUT.multipliedBy(2);

    private final String name;
    private final Duration refreshInterval;
    private final Consumer<Membership> listener;
    private final Predicate<InetAddress> isOwn;
    private final Dns dns;
    /** Opens with the end of the first lookup, or when the wait for it ends. */
    private final CountDownLatch firstAnswer = new CountDownLatch(1);

    private final AtomicLong failures = new AtomicLong();
    /** The membership according to the last successful lookup; null: there was none yet. */
    private volatile @Nullable Membership membership;
    /** The addresses in the last successful lookup; null: there was none yet. */
    private volatile @Nullable GatewayAddresses addresses;
    /** The membership that the listener has accepted last; null: none. */
    private @Nullable Membership reported;
    /** Whether the last lookup failed. */
    private boolean isLookupFailing;
    /** Whether the last notification failed. */
    private boolean isListenerFailing;

    /**
     * Starts to count, without blocking.
     *
     * @param name the name to resolve
     * @param listener receives each changed membership, on a thread of this object
     */
    public GatewayCount(String name, ClusterProperties properties, Consumer<Membership> listener) {
        this(
                name,
                properties.refreshInterval(),
                listener,
                GatewayCount::isAddressOfThisMachine,
                new ClusterDns(name, properties.dnsServer()));
    }

    GatewayCount(
            String name,
            Duration refreshInterval,
            Consumer<Membership> listener,
            Predicate<InetAddress> isOwn,
            Dns dns) {
        this.name = name;
        this.refreshInterval = refreshInterval;
        this.listener = listener;
        this.isOwn = isOwn;
        this.dns = dns;
        dns.thread().execute(this::lookUp);
        var _ = dns.thread().schedule(firstAnswer::countDown, FIRST_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS);
    }

    /**
     * Blocks until the first lookup has succeeded or failed, at most for a few seconds after the start of the
     * count.
     *
     * @param initialGateways the number that is assumed while DNS has no answer, for the log
     */
    public void awaitFirst(int initialGateways) {
        try {
            firstAnswer.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (membership == null) {
            if (failures() == 0) {
                log.warn("DNS lookup of {} has no answer yet", name);
            }
            log.warn(
                    "The number of gateways is unknown until DNS resolves {}; until then, each limit of scope cluster"
                            + " is divided by weir.cluster.initial-gateways: {}",
                    name,
                    initialGateways);
        }
    }

    /** The number of gateways in the last successful lookup; 0: there was none yet. */
    public int gateways() {
        Membership known = membership;
        return known == null ? 0 : known.gateways();
    }

    /** The addresses in the last successful lookup; null: there was none yet. */
    public @Nullable GatewayAddresses addresses() {
        return addresses;
    }

    /** The number of failed lookups and of failed notifications. */
    public long failures() {
        return failures.get();
    }

    @Override
    public void close() {
        dns.close();
        // The thread, which would end the wait, has stopped.
        firstAnswer.countDown();
    }

    private void lookUp() {
        Future<List<InetAddress>> lookup;
        try {
            lookup = dns.addresses();
        } catch (RuntimeException e) {
            // The resolver rejects a malformed name before it sends a query.
            lookup = dns.thread().newFailedFuture(e);
        }
        lookup.addListener((Future<List<InetAddress>> answer) -> {
            try {
                if (answer.isSuccess() && !answer.getNow().isEmpty()) {
                    Membership next = Membership.of(answer.getNow(), isOwn);
                    addresses = GatewayAddresses.of(Membership.ordered(answer.getNow()), next.rank());
                    succeeded(next);
                } else if (answer.isSuccess()) {
                    failed(new UnknownHostException("no address"));
                } else {
                    failed(answer.cause());
                }
            } finally {
                firstAnswer.countDown();
                EventExecutor thread = dns.thread();
                if (!thread.isShuttingDown()) {
                    var _ = thread.schedule(this::lookUp, refreshInterval.toNanos(), TimeUnit.NANOSECONDS);
                }
            }
        });
    }

    private void succeeded(Membership next) {
        isLookupFailing = false;
        if (!next.equals(membership)) {
            log.info(
                    "{} gateways share the limits of scope cluster (before: {}); this one is {}",
                    next.gateways(),
                    gateways(),
                    next.rank() == Membership.UNKNOWN_RANK
                            ? "not known to be among their addresses, so its shares are rounded down"
                            : "number " + (next.rank() + 1));
            membership = next;
        }
        try {
            if (!next.equals(reported)) {
                listener.accept(next);
                reported = next;
            }
            isListenerFailing = false;
        } catch (RuntimeException e) {
            failures.incrementAndGet();
            if (!isListenerFailing) {
                isListenerFailing = true;
                log.error(
                        "Dividing the limits of scope cluster among {} gateways failed; retrying", next.gateways(), e);
            }
        }
    }

    private void failed(Throwable cause) {
        failures.incrementAndGet();
        if (!isLookupFailing) {
            isLookupFailing = true;
            log.warn("DNS lookup of {} failed ({}); keeping {} gateways", name, cause.getMessage(), gateways());
        }
    }

    private static boolean isAddressOfThisMachine(InetAddress address) {
        try {
            return NetworkInterface.getByInetAddress(address) != null;
        } catch (SocketException e) {
            return false;
        }
    }
}
