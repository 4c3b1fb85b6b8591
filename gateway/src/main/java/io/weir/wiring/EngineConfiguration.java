package io.weir.wiring;

import io.weir.config.WeirProperties;
import io.weir.drain.Drain;
import io.weir.engine.Engine;
import io.weir.engine.Limits;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadSampler;
import java.util.concurrent.ThreadLocalRandom;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.DependsOn;
import org.springframework.http.client.ReactorResourceFactory;

/** Wires the engine, its protection against overload, and the preload. */
@Configuration(proxyBeanMethods = false)
class EngineConfiguration {

    @Bean
    Engine engine(WeirProperties properties, Drain drain, OverloadGuard guard) {
        Limits limits = new Limits(
                properties.edge().maxBodySize().toBytes(),
                properties.edge().bodyIdleTimeout().toNanos(),
                properties.edge().readIdleTimeout().toNanos(),
                Math.toIntExact(properties.edge().maxWebsocketFrameSize().toBytes()),
                Math.toIntExact(properties.edge().readAhead().toBytes()),
                properties.edge().readAheadTotalBytes(),
                properties.edge().minBodyRate().toBytes());
        return new Engine(System::nanoTime, () -> ThreadLocalRandom.current().nextDouble(), drain, guard, limits);
    }

    @Bean
    GatewayState gatewayState(Engine engine, OverloadGuard guard, Drain drain) {
        return new GatewayState(engine, guard, drain);
    }

    @Bean
    OverloadGuard overloadGuard(WeirProperties properties) {
        return new OverloadGuard(properties.overload());
    }

    /** Starts after the preload, which delays event loops although the gateway is not overloaded. */
    @Bean(destroyMethod = "close")
    @DependsOn("classPreload")
    OverloadSampler overloadSampler(ReactorResourceFactory resources, OverloadGuard guard) {
        OverloadSampler sampler =
                new OverloadSampler(resources.getLoopResources().onServer(true), guard, System::nanoTime);
        sampler.start();
        return sampler;
    }

    @Bean(initMethod = "run")
    ClassPreload classPreload(ReactorResourceFactory resources) {
        return new ClassPreload(resources.getLoopResources());
    }
}
