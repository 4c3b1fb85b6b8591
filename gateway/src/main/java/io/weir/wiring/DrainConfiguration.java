package io.weir.wiring;

import io.weir.apply.LiveBackends;
import io.weir.apply.RetiredGenerations;
import io.weir.config.WeirProperties;
import io.weir.dashboard.LiveFeed;
import io.weir.door.GeneralDoor;
import io.weir.door.LiveRoutes;
import io.weir.drain.Drain;
import io.weir.drain.Drainer;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.overload.OverloadSampler;
import io.weir.warmup.WarmUp;
import java.time.Duration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.availability.ReadinessState;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Wires the drain at the application's end. */
@Configuration(proxyBeanMethods = false)
class DrainConfiguration {

    @Bean
    Drain drain() {
        return new Drain();
    }

    @Bean
    DrainOnShutdown drainOnShutdown(
            ApplicationContext context,
            Drain drain,
            WeirProperties properties,
            Engine engine,
            GeneralDoor door,
            EdgeServer edge,
            ObjectProvider<RedirectServer> redirects,
            WarmUp warmUp,
            BusyParts busyParts) {
        Drainer.Listener listener = new Drainer.Listener() {
            @Override
            public void announced() {
                warmUp.stop();
                AvailabilityChangeEvent.publish(context, ReadinessState.REFUSING_TRAFFIC);
                edge.connections().drain();
                redirects.ifAvailable(server -> server.connections().drain());
            }

            @Override
            public void drained() {
                busyParts.stop();
            }
        };
        return new DrainOnShutdown(
                context,
                new Drainer(
                        drain,
                        properties.drain(),
                        new EngineTraffic(engine, door),
                        listener,
                        System::nanoTime,
                        DrainConfiguration::sleep));
    }

    @Bean
    BusyParts busyParts(
            OverloadSampler sampler,
            LiveFeed feed,
            LiveBackends backends,
            RetiredGenerations retiredGenerations,
            LiveRoutes routes) {
        return new BusyParts(sampler, feed, backends, retiredGenerations, routes);
    }

    /** The parts that keep event loops busy without traffic. */
    record BusyParts(
            OverloadSampler sampler,
            LiveFeed feed,
            LiveBackends backends,
            RetiredGenerations retiredGenerations,
            LiveRoutes routes) {

        void stop() {
            sampler.close();
            feed.close();
            backends.close();
            retiredGenerations.close();
            for (Backend backend : routes.get().backends().values()) {
                backend.instances()
                        .all()
                        .forEach(instance -> instance.pool().close().subscribe());
            }
        }
    }

    private record EngineTraffic(Engine engine, GeneralDoor door) implements Drainer.Traffic {

        @Override
        public int inFlight() {
            return engine.inFlight() + door.inChain();
        }

        @Override
        public int streams() {
            return engine.streams();
        }

        @Override
        public void closeStreams() {
            engine.closeStreams();
        }

        @Override
        public void endAll() {
            engine.endAll();
        }
    }

    private static void sleep(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
