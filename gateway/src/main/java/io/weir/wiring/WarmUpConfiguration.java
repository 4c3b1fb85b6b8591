package io.weir.wiring;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.config.WeirProperties;
import io.weir.door.FrontDoor;
import io.weir.door.LiveRoutes;
import io.weir.door.RouteCompiler;
import io.weir.drain.Drain;
import io.weir.warmup.GatewayExercise;
import io.weir.warmup.SharedParts;
import io.weir.warmup.WarmUp;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.autoconfigure.ServerProperties;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.convert.ConversionService;
import org.springframework.http.client.ReactorResourceFactory;

/** Wires the warm-up, which precedes readiness. */
@Configuration(proxyBeanMethods = false)
class WarmUpConfiguration {

    @Bean
    WarmUp warmUp(WeirProperties properties) {
        return new WarmUp(properties.warmUp().maxDuration(), System::nanoTime);
    }

    @Bean(destroyMethod = "close")
    WarmUpBeforeReadiness warmUpBeforeReadiness(
            WarmUp warmUp,
            Drain drain,
            WeirProperties properties,
            ReactorResourceFactory resources,
            ApplicationContext context,
            @Qualifier("webFluxConversionService") ConversionService conversion,
            RouteCompiler compiler,
            LiveRoutes routes,
            EdgeServer edge,
            ServerProperties server) {
        Ssl ssl = server.getSsl();
        boolean needsCertificate = ssl != null && ssl.getClientAuth() == Ssl.ClientAuth.NEED;
        return new WarmUpBeforeReadiness(
                warmUp,
                drain,
                () -> new GatewayExercise(new SharedParts(
                        properties,
                        resources.getLoopResources(),
                        context,
                        conversion,
                        compiler,
                        () -> new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                        (guard, own) -> new GatewayShedding(guard, own, null),
                        needsCertificate ? null : edge.tls(),
                        routes.get().views().stream()
                                .anyMatch(view -> view.door().equals(FrontDoor.GENERAL)),
                        server.getHttp2() != null && server.getHttp2().isEnabled(),
                        System::nanoTime)));
    }
}
