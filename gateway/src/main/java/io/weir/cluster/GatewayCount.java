package io.weir.cluster;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many gateways there are, as DNS has them.
 *
 * <p>It asks, tells when the number is another one, and asks again a refresh interval after the answer: whatever DNS says is
 * followed with the next refresh. What DNS does not know leaves the number as it was, and nothing that goes wrong ends the
 * asking. Whoever cannot take a number is told again with the next refresh.
 */
// Concurrency: all but the figures that are shown is confined to DNS's thread.
public final class GatewayCount implements AutoCloseable {

    /** Where the addresses of all gateways are asked for. */
    interface Dns extends AutoCloseable {

        /** Completes the answers. */
        EventExecutor thread();

        /** An address for each gateway, or of either family. */
        Future<List<InetAddress>> addresses();

        @Override
        void close();
    }

    private static final Logger log = LoggerFactory.getLogger(GatewayCount.class);

    private final String name;
    private final Duration refreshInterval;
    private final IntConsumer changed;
    private final Dns dns;
    private final CountDownLatch asked = new CountDownLatch(1);
    private final AtomicLong failures = new AtomicLong();
    private volatile int gateways;
    private int told;
    private boolean isUnknown;
    private boolean isUntold;

    /**
     * Starts to count, and waits for the first answer, or for DNS to have none.
     *
     * @param name what to ask DNS for
     * @param changed is told when the number is another one, on a thread of this object's
     */
    public GatewayCount(String name, ClusterProperties properties, IntConsumer changed) {
        this(name, properties.refreshInterval(), changed, new ClusterDns(name, properties.dnsServer()));
        awaitFirst();
    }

    /** Starts to count. */
    GatewayCount(String name, Duration refreshInterval, IntConsumer changed, Dns dns) {
        this.name = name;
        this.refreshInterval = refreshInterval;
        this.changed = changed;
        this.dns = dns;
        dns.thread().execute(this::ask);
    }

    /** Gateways that DNS had when it last answered; 0: it has not yet. */
    public int gateways() {
        return gateways;
    }

    /** How often DNS did not answer, or had nobody, or the number could not be taken. */
    public long failures() {
        return failures.get();
    }

    @Override
    public void close() {
        dns.close();
    }

    private void awaitFirst() {
        try {
            if (!asked.await(ClusterDns.QUERY_TIMEOUT.toMillis() * 2, TimeUnit.MILLISECONDS)) {
                log.warn("DNS has not answered for {} yet", name);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void ask() {
        Future<List<InetAddress>> asking;
        try {
            asking = dns.addresses();
        } catch (RuntimeException e) {
            // Not even asked: of a name that cannot be one.
            asking = dns.thread().newFailedFuture(e);
        }
        asking.addListener((Future<List<InetAddress>> answer) -> {
            try {
                if (answer.isSuccess()) {
                    found(count(answer.getNow()));
                } else {
                    unknown(answer.cause());
                }
            } finally {
                asked.countDown();
                EventExecutor thread = dns.thread();
                if (!thread.isShuttingDown()) {
                    var _ = thread.schedule(this::ask, refreshInterval.toNanos(), TimeUnit.NANOSECONDS);
                }
            }
        });
    }

    private void found(int count) {
        isUnknown = false;
        if (count != gateways) {
            log.info("{} gateways share the limits of scope cluster, after {}", count, gateways);
            gateways = count;
        }
        try {
            if (count != told) {
                changed.accept(count);
                told = count;
            }
            isUntold = false;
        } catch (RuntimeException e) {
            failures.incrementAndGet();
            if (!isUntold) {
                isUntold = true;
                log.error("The limits of scope cluster are not divided among {} gateways yet", count, e);
            }
        }
    }

    private void unknown(Throwable cause) {
        failures.incrementAndGet();
        if (!isUnknown) {
            isUnknown = true;
            log.warn("DNS does not tell how many gateways {} are: {}; {} stands", name, cause.getMessage(), gateways);
        }
    }

    /** Where each gateway has an address of both families, it is one gateway all the same. */
    private static int count(List<InetAddress> addresses) {
        Set<InetAddress> distinct = new HashSet<>(addresses);
        int ofFour =
                (int) distinct.stream().filter(Inet4Address.class::isInstance).count();
        return Math.max(ofFour, distinct.size() - ofFour);
    }
}
