package io.weir.wiring;

import io.weir.config.WeirProperties;
import io.weir.edge.TlsEngine;
import io.weir.metrics.CertificateMeters;
import io.weir.metrics.MeterBook;
import io.weir.reload.BundleSource;
import io.weir.reload.CertificateWatch;
import io.weir.reload.LiveConfiguration;
import io.weir.reload.TlsBundles;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementServerProperties;
import org.springframework.boot.autoconfigure.ssl.SslBundleRegistrar;
import org.springframework.boot.autoconfigure.ssl.SslProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.io.ApplicationResourceLoader;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerSslBundle;
import org.springframework.boot.web.server.autoconfigure.ServerProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.ResourceLoader;

/** Wires the SSL bundles, which replaces Spring Boot's auto-configuration, and their rotation. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(SslProperties.class)
class TlsConfiguration {

    private static final Logger log = LoggerFactory.getLogger(TlsConfiguration.class);

    /** The configured bundles. A type of its own, because Spring collects beans for a list. */
    record Sources(List<BundleSource> bundles) {}

    @Bean
    Sources bundleSources(SslProperties properties, ResourceLoader loader) {
        return new Sources(BundleSource.of(properties.getBundle(), ApplicationResourceLoader.get(loader)));
    }

    /** The engine in use; the log names it. */
    @Bean
    TlsEngine tlsEngine(WeirProperties properties) {
        TlsEngine configured = properties.edge().tlsEngine();
        TlsEngine engine = configured.inUse();
        if (engine == TlsEngine.OPENSSL) {
            log.info("TLS engine: BoringSSL");
        } else if (configured == TlsEngine.JDK) {
            log.info("TLS engine: the JDK's, as configured");
        } else {
            log.warn("TLS engine: the JDK's; the library of BoringSSL does not load: {}", TlsEngine.loadFailure());
        }
        return engine;
    }

    @Bean
    CertificateMeters certificateMeters(MeterBook meterBook) {
        return new CertificateMeters(meterBook);
    }

    @Bean
    TlsBundles sslBundleRegistry(
            Sources sources,
            CertificateMeters meters,
            ObjectProvider<SslBundleRegistrar> registrars,
            ServerProperties server,
            ManagementServerProperties management) {
        TlsBundles bundles = new TlsBundles(InstantSource.system(), meters);
        sources.bundles().forEach(source -> bundles.registerBundle(source.name(), source.read()));
        registrars.orderedStream().forEach(registrar -> registrar.registerBundles(bundles));
        show("server.ssl", server.getSsl(), bundles);
        show("management.server.ssl", management.getSsl(), bundles);
        return bundles;
    }

    /** Shows the certificate of a server that is configured without a bundle, and so cannot be rotated. */
    private static void show(String name, @Nullable Ssl ssl, TlsBundles bundles) {
        if (Ssl.isEnabled(ssl) && ssl.getBundle() == null) {
            bundles.show(name, WebServerSslBundle.get(ssl));
        }
    }

    @Bean(initMethod = "start", destroyMethod = "close")
    CertificateWatch certificateWatch(
            Sources sources,
            TlsBundles bundles,
            CertificateMeters meters,
            SslProperties properties,
            LiveConfiguration configuration) {
        bundles.getBundleNames()
                .forEach(name -> bundles.addBundleUpdateHandler(name, bundle -> configuration.renewConnections()));
        return new CertificateWatch(
                sources.bundles(),
                bundles,
                meters,
                properties.getBundle().getWatch().getFile().getQuietPeriod());
    }
}
