package io.weir.reload;

import io.weir.config.ReloadProperties;
import io.weir.metrics.CertificateMeters;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces SSL bundles when their files change.
 *
 * <p>The watch compares the content of exactly the files that a bundle names, once per quiet period. It reads
 * a bundle if the new content is the same at two comparisons in a row. So another file of the same directory
 * neither starts nor delays a rotation, and links and network file systems need no special case. A refused
 * bundle is tried again at each comparison, because a certificate becomes valid without a change of its file.
 */
// Concurrency: one daemon thread does everything.
public final class CertificateWatch implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(CertificateWatch.class);

    private final TlsBundles bundles;
    private final CertificateMeters meters;
    private final Duration period;
    private final List<WatchedBundle> watched;
    private final WatchThread thread = new WatchThread("weir-certificates", this::run);

    /** A bundle with its files' hashes in force and at the last comparison. */
    private static final class WatchedBundle {

        private final BundleSource source;
        private Map<Path, String> inForce;
        private Map<Path, String> lastSeen;
        /** The reason why the files' content is not in force; null: it is in force. */
        private @Nullable String refusal;

        WatchedBundle(BundleSource source) {
            this.source = source;
            this.inForce = source.initialHashes();
            this.lastSeen = inForce;
        }
    }

    /**
     * A watch that has not started yet.
     *
     * @param quietPeriod time between two comparisons, from {@link ReloadProperties#CERTIFICATE_PERIOD}
     * @throws IllegalArgumentException if the period is shorter than {@link
     *     ReloadProperties#MIN_CERTIFICATE_PERIOD}
     */
    public CertificateWatch(
            List<BundleSource> sources, TlsBundles bundles, CertificateMeters meters, Duration quietPeriod) {
        this.bundles = bundles;
        this.meters = meters;
        if (quietPeriod.compareTo(ReloadProperties.MIN_CERTIFICATE_PERIOD) < 0) {
            throw new IllegalArgumentException("%s: %dms (expected: at least %dms)"
                    .formatted(
                            ReloadProperties.CERTIFICATE_PERIOD,
                            quietPeriod.toMillis(),
                            ReloadProperties.MIN_CERTIFICATE_PERIOD.toMillis()));
        }
        this.period = quietPeriod;
        this.watched = sources.stream()
                .filter(source -> !source.watchedFiles().isEmpty())
                .map(WatchedBundle::new)
                .toList();
        watched.forEach(bundle -> meters.watched(bundle.source.name()));
    }

    /** Starts the watch, if a bundle has {@code reload-on-update}. */
    public void start() {
        if (!watched.isEmpty()) {
            thread.start();
        }
    }

    private void run() throws InterruptedException {
        while (thread.rest(period)) {
            watched.forEach(this::compare);
        }
    }

    private void compare(WatchedBundle bundle) {
        try {
            Map<Path, String> hashes = WatchedFiles.hashes(bundle.source.watchedFiles());
            boolean isStable = hashes.equals(bundle.lastSeen);
            bundle.lastSeen = hashes;
            if (!isStable) {
                return;
            }
            if (!hashes.equals(bundle.inForce)) {
                rotate(bundle, hashes);
            } else if (bundle.refusal != null) {
                bundle.refusal = null;
                meters.restored(bundle.source.name());
                log.warn("The files of SSL bundle {} contain the pair in use again", bundle.source.name());
            }
        } catch (RuntimeException e) {
            log.error("SSL bundle {} could not be compared with its files", bundle.source.name(), e);
        }
    }

    private void rotate(WatchedBundle bundle, Map<Path, String> hashes) {
        String name = bundle.source.name();
        try {
            bundles.updateBundle(name, bundle.source.read());
            bundle.inForce = hashes;
            bundle.refusal = null;
            meters.applied(name);
            log.warn("SSL bundle {} replaced from its files", name);
        } catch (RuntimeException e) {
            String refusal = reason(e);
            if (!refusal.equals(bundle.refusal)) {
                bundle.refusal = refusal;
                meters.refused(name);
                log.error("New files of SSL bundle {} refused; the present pair stays in use: {}", name, refusal);
            }
        }
    }

    /** The messages of an exception and its causes. */
    private static String reason(Throwable thrown) {
        StringBuilder reason = new StringBuilder(String.valueOf(thrown.getMessage()));
        for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) {
            String message = String.valueOf(cause.getMessage());
            if (reason.indexOf(message) < 0) {
                reason.append(": ").append(message);
            }
        }
        return reason.toString();
    }

    /** Stops the watch. A rotation in progress is completed. */
    @Override
    public void close() {
        thread.close();
    }
}
