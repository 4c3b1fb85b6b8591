package io.weir.management;

import io.weir.edge.DateHandler;
import io.weir.edge.EdgeServerCustomizer;
import io.weir.edge.ServerTls;
import io.weir.edge.TlsEngine;
import org.springframework.boot.actuate.autoconfigure.endpoint.web.WebEndpointProperties;
import org.springframework.boot.actuate.autoconfigure.web.server.ConditionalOnManagementPort;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementServerProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.Http2;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.http.client.ReactorResourceFactory;
import org.springframework.web.server.WebFilter;
import reactor.netty.http.HttpProtocol;

/**
 * Adds the guards and the protocol setting to the application context of the management port.
 *
 * <p>Spring Boot reads the class's name from {@code
 * META-INF/spring/...ManagementContextConfiguration.imports}. The class has no stereotype annotation on
 * purpose: a component scan would add the guard to the gateway's own port, too.
 */
public class ManagementGuardConfiguration {

    /** The guard; only on a management port of its own. */
    @Bean
    @ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
    static WebFilter managementGuard(Environment environment, WebEndpointProperties endpoints) {
        ManagementProperties properties =
                Binder.get(environment).bindOrCreate("weir.management", ManagementProperties.class);
        String health = endpoints.getPathMapping().getOrDefault("health", "health");
        return new ManagementGuard(properties, endpoints.getBasePath(), health);
    }

    /**
     * Guards the connections as those of callers, with limits of their own. Declines upgrades to HTTP/2 in
     * clear text: Reactor Netty would have to hold the whole request first, and answers 413 if it has a body.
     * The JDK's client offers the upgrade with each request. Over TLS the port speaks HTTP/2, with the JDK's
     * engine: it has few connections. Without TLS of its own it has none: Spring Boot would give it that of
     * the callers, and ask scrapers and probes for their certificates.
     */
    @Bean
    @ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
    static WebServerFactoryCustomizer<NettyReactiveWebServerFactory> managementProtocol(
            ReactorResourceFactory resources, ManagementServerProperties properties) {
        return factory -> {
            EdgeServerCustomizer edge = EdgeServerCustomizer.ofManagement();
            factory.addServerCustomizers(edge, DateHandler::addTo);
            Http2 http2 = factory.getHttp2();
            boolean speaksHttp2 = http2 != null && http2.isEnabled();
            Ssl ssl = properties.getSsl();
            if (!Ssl.isEnabled(ssl)) {
                factory.setSsl(null);
                factory.addServerCustomizers(server -> server.protocol(HttpProtocol.HTTP11));
                return;
            }
            if (!speaksHttp2) {
                edge.refuseHttp2();
            }
            // In place of Spring Boot's TLS, which would take another engine.
            factory.addServerCustomizers(ServerTls.of(
                    TlsEngine.JDK, null, ssl, factory.getSslBundles(), speaksHttp2, resources.getLoopResources()));
            factory.setSsl(null);
        };
    }
}
