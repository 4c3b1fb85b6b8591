package io.weir.edge;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * The files that the process may open ({@code ulimit -n}), and what each use may take of them. A use that
 * takes the files of another stops it: health probes fail, connections to backends do, and backends seem
 * unreachable.
 *
 * <p>Callers' connections get at most half, those to the redirect port a sixteenth, those to the management
 * port an eighth, and the gateway's own files a sixteenth. The connections to backends get the rest, so at
 * least a quarter, and much more where {@code weir.edge.max-connections} is far below the limit.
 *
 * @param limit the number of files
 */
public record OpenFiles(long limit) {

    private static final int PER_CALLER_CONNECTION = 2;
    private static final int PER_REDIRECT_CONNECTION = 16;
    private static final int PER_MANAGEMENT_CONNECTION = 8;
    private static final int PER_OWN_FILE = 16;
    /** Enough connections to the management port for dashboards, scrapers and a hundred other gateways. */
    private static final int MAX_MANAGEMENT_CONNECTIONS = 512;
    /** The jars, the logs, and what the event loops need. */
    private static final int MAX_OWN_FILES = 1024;

    private static final int LEAST_CONNECTIONS = 16;

    /** Those of this process. */
    public static OpenFiles ofProcess() {
        return new OpenFiles(
                ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
                        ? unix.getMaxFileDescriptorCount()
                        : Long.MAX_VALUE);
    }

    /** The largest number of callers' connections; the configured one, or fewer. */
    int callers(int configured) {
        return (int) Math.min(configured, share(PER_CALLER_CONNECTION));
    }

    /** The largest number of connections to the redirect port; the configured one, or fewer. */
    int redirects(int configured) {
        return (int) Math.min(configured, share(PER_REDIRECT_CONNECTION));
    }

    /** The largest number of connections to the management port. */
    int management() {
        return (int) Math.min(MAX_MANAGEMENT_CONNECTIONS, share(PER_MANAGEMENT_CONNECTION));
    }

    /** The largest number of connections to all backends together. */
    public int backends(EdgeProperties edge) {
        long others = callers(edge.maxConnections())
                + (edge.redirectPort() == null ? 0 : redirects(edge.maxRedirectConnections()))
                + management()
                + Math.min(MAX_OWN_FILES, share(PER_OWN_FILE));
        return Math.clamp(limit - others, LEAST_CONNECTIONS, Integer.MAX_VALUE);
    }

    private long share(int divisor) {
        return Math.max(LEAST_CONNECTIONS, limit / divisor);
    }
}
