package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Meters of the certificates in use, and of their rotations. */
// Concurrency: guarded by this. A bundle's state is volatile, for scrapes.
public final class CertificateMeters {

    private final MeterBook book;
    /** The owner of the expiries of each bundle. */
    private final Map<String, MeterScope> shown = new HashMap<>();

    private final Map<String, Rotations> rotations = new ConcurrentHashMap<>();

    /** No certificates yet. */
    public CertificateMeters(MeterBook book) {
        this.book = book;
    }

    /**
     * The end of a certificate's validity.
     *
     * @param store {@code key} or {@code trust}
     * @param certificate the certificate's alias
     * @param at the end
     */
    public record Expiry(String store, String certificate, Instant at) {}

    /** The rotations of one bundle. */
    private static final class Rotations {

        private final Counter applied;
        private final Counter refused;
        private volatile boolean isRefused;

        Rotations(MeterScope scope, String bundle) {
            this.applied = scope.counter(GatewayMeter.TLS_ROTATIONS, bundle, "applied");
            this.refused = scope.counter(GatewayMeter.TLS_ROTATIONS, bundle, "refused");
            scope.gauge(GatewayMeter.TLS_REFUSED, () -> isRefused ? 1 : 0, bundle);
        }
    }

    /** Shows the certificates of a bundle, in place of those before. */
    public synchronized void show(String bundle, List<Expiry> expiries) {
        MeterScope scope = book.open();
        expiries.forEach(expiry -> scope.gauge(
                GatewayMeter.TLS_EXPIRES_AT,
                () -> expiry.at().getEpochSecond(),
                bundle,
                expiry.store(),
                expiry.certificate()));
        @Nullable MeterScope before = shown.put(bundle, scope);
        if (before != null) {
            before.close();
        }
    }

    /** The files of a bundle are watched. */
    public synchronized void watched(String bundle) {
        rotations.computeIfAbsent(bundle, name -> new Rotations(book.open(), name));
    }

    /** Records that the content of a bundle's files is in use now. */
    public void applied(String bundle) {
        Rotations of = rotations.get(bundle);
        if (of != null) {
            of.isRefused = false;
            of.applied.increment();
        }
    }

    /** Records that the content of a bundle's files was refused. */
    public void refused(String bundle) {
        Rotations of = rotations.get(bundle);
        if (of != null) {
            of.isRefused = true;
            of.refused.increment();
        }
    }

    /** Records that a bundle's files contain the material in use again. */
    public void restored(String bundle) {
        Rotations of = rotations.get(bundle);
        if (of != null) {
            of.isRefused = false;
        }
    }
}
