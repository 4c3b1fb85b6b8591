package io.weir.wiring;

import io.weir.cluster.ClusterProperties;
import io.weir.cluster.GatewayCount;
import io.weir.config.WeirProperties;
import io.weir.config.check.BuildVersion;
import io.weir.dashboard.LiveFeed;
import io.weir.fleet.Fleet;
import io.weir.fleet.GatewaySummary;
import io.weir.fleet.Members;
import io.weir.fleet.PeerTls;
import io.weir.fleet.Peers;
import io.weir.management.Gateway;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.Locale;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementServerProperties;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerSslBundle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.http.client.ReactorResourceFactory;

/** Wires the view and the changes of all gateways. */
@Configuration(proxyBeanMethods = false)
class FleetConfiguration {

    private static final int ID_BYTES = 8;

    @Bean
    Peers peers(
            WeirProperties properties,
            ReactorResourceFactory resources,
            ManagementServerProperties management,
            SslBundles bundles,
            Environment environment) {
        return new Peers(
                resources.getLoopResources(),
                new PeerTls(bundle(management.getSsl(), bundles)),
                // Known once the port is open.
                () -> environment.getRequiredProperty("local.management.port", Integer.class),
                properties.cluster().gateways());
    }

    /** The present SSL bundle of the management port; null: the port has no TLS. */
    private static Supplier<@Nullable SslBundle> bundle(@Nullable Ssl ssl, SslBundles bundles) {
        if (ssl == null || !Ssl.isEnabled(ssl)) {
            return () -> null;
        }
        String name = ssl.getBundle();
        if (name != null) {
            return () -> bundles.getBundle(name);
        }
        SslBundle fixed = WebServerSslBundle.get(ssl);
        return () -> fixed;
    }

    @Bean
    Fleet fleet(
            WeirProperties properties,
            Gateway gateway,
            GatewayState state,
            LiveFeed feed,
            Peers peers,
            ObjectProvider<GatewayCount> gatewayCount) {
        byte[] id = new byte[ID_BYTES];
        new SecureRandom().nextBytes(id);
        ClusterProperties cluster = properties.cluster();
        String startedAt = Instant.now().toString();
        return new Fleet(
                id,
                cluster.fleet(),
                members(cluster, gatewayCount.getIfAvailable()),
                () -> new GatewaySummary(
                        BuildVersion.current(),
                        startedAt,
                        state.drain().phase().name().toLowerCase(Locale.ROOT),
                        gateway.configuration(),
                        feed.summaries()),
                peers);
    }

    private static Supplier<Members> members(ClusterProperties cluster, @Nullable GatewayCount count) {
        String name = cluster.gateways();
        return name == null || count == null || !cluster.fleet()
                ? () -> Members.ALONE
                : () -> Members.of(name, count.addresses());
    }
}
