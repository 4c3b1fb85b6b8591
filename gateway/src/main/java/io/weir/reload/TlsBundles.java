package io.weir.reload;

import io.weir.config.check.TlsMaterial;
import io.weir.config.check.TlsMaterial.Finding;
import io.weir.metrics.CertificateMeters;
import java.time.InstantSource;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.boot.ssl.SslBundle;

/**
 * The SSL bundles in force. Each bundle is tried before it is used, and meters show the end of its validity.
 *
 * <p>At the start, only material with which every handshake would fail is refused: some callers accept an
 * expired certificate, and no caller is served by a gateway that does not start. At a rotation,
 * material with any finding is refused, since the present material is better.
 */
// Concurrency: the registry is thread-safe; one thread rotates.
public final class TlsBundles extends DefaultSslBundleRegistry {

    private static final Logger log = LoggerFactory.getLogger(TlsBundles.class);

    private final InstantSource clock;
    private final CertificateMeters meters;

    /** No bundles yet. */
    public TlsBundles(InstantSource clock, CertificateMeters meters) {
        this.clock = clock;
        this.meters = meters;
    }

    /**
     * Registers a bundle at the start.
     *
     * @throws IllegalStateException if no handshake can succeed with the bundle
     */
    @Override
    public void registerBundle(String name, SslBundle bundle) {
        show(name, bundle);
        super.registerBundle(name, bundle);
    }

    /**
     * Shows the validity of material that is in use but not registered as a bundle.
     *
     * @throws IllegalStateException if no handshake can succeed with the material
     */
    public void show(String name, SslBundle bundle) {
        TlsMaterial material = TlsMaterial.of(bundle);
        List<Finding> findings = material.findings(clock.instant());
        if (findings.stream().anyMatch(Finding::isFatal)) {
            throw new IllegalStateException("SSL bundle " + name + ": " + TlsMaterial.text(findings));
        }
        if (!findings.isEmpty()) {
            log.error("SSL bundle {} is used, but peers may reject it: {}", name, TlsMaterial.text(findings));
        }
        show(name, material);
    }

    /**
     * Replaces a bundle in use.
     *
     * @throws IllegalStateException if the new bundle is not usable; then the present one stays in use
     */
    @Override
    public void updateBundle(String name, SslBundle bundle) {
        TlsMaterial material = TlsMaterial.of(bundle);
        List<Finding> findings = material.findings(clock.instant());
        if (!findings.isEmpty()) {
            throw new IllegalStateException(TlsMaterial.text(findings));
        }
        // A failure must occur before the present bundle is replaced.
        bundle.createSslContext();
        super.updateBundle(name, bundle);
        show(name, material);
    }

    private void show(String name, TlsMaterial material) {
        meters.show(
                name,
                material.expiries().stream()
                        .map(expiry -> new CertificateMeters.Expiry(expiry.store(), expiry.certificate(), expiry.at()))
                        .toList());
    }
}
