package io.weir.management;

import org.springframework.boot.actuate.autoconfigure.endpoint.web.WebEndpointProperties;
import org.springframework.boot.actuate.autoconfigure.web.server.ConditionalOnManagementPort;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.web.server.WebFilter;
import reactor.netty.http.HttpProtocol;

/**
 * Puts the guard, and what that port speaks, into the management port's own context.
 *
 * <p>Spring Boot reads the class's name from {@code META-INF/spring/...ManagementContextConfiguration.imports}. It
 * bears no stereotype on purpose: a scan of components would put the guard before the gateway's own port as well.
 */
public class ManagementGuardConfiguration {

    /** The guard, on a management port of its own. */
    @Bean
    @ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
    static WebFilter managementGuard(Environment environment, WebEndpointProperties endpoints) {
        ManagementProperties properties =
                Binder.get(environment).bindOrCreate("weir.management", ManagementProperties.class);
        String health = endpoints.getPathMapping().getOrDefault("health", "health");
        return new ManagementGuard(properties, endpoints.getBasePath(), health);
    }

    /**
     * Takes up no offer of HTTP/2 in clear text: such a request would have to be held whole first, and Reactor Netty answers
     * 413 to any that has a body. Java's own client offers it with each request. Over TLS both speak HTTP/2.
     */
    @Bean
    @ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
    static WebServerFactoryCustomizer<NettyReactiveWebServerFactory> managementProtocol() {
        return factory -> {
            if (!Ssl.isEnabled(factory.getSsl())) {
                factory.addServerCustomizers(server -> server.protocol(HttpProtocol.HTTP11));
            }
        };
    }
}
