package io.weir.wiring;

import io.github.resilience4j.bulkhead.event.BulkheadEvent;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerEvent;
import io.github.resilience4j.consumer.EventConsumerRegistry;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.accesslog.AccessLog;
import io.weir.accesslog.QueuedLog;
import io.weir.apply.RouteRecorders;
import io.weir.config.WeirProperties;
import io.weir.config.check.BuildVersion;
import io.weir.edge.ClientLimits;
import io.weir.edge.TlsEngine;
import io.weir.engine.Engine;
import io.weir.management.EventRings;
import io.weir.management.RecentEvents;
import io.weir.metrics.BuildMeters;
import io.weir.metrics.EdgeMeters;
import io.weir.metrics.LogMeters;
import io.weir.metrics.MeterBook;
import io.weir.metrics.TracingMeters;
import io.weir.overload.OverloadSampler;
import io.weir.tracing.Tracing;
import java.io.IOException;
import java.time.InstantSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Wires metrics, the access log, traces, and the lists of recent events. */
@Configuration(proxyBeanMethods = false)
class ObservationConfiguration {

    /**
     * Replaces Resilience4j's own registry, which takes a lock on the event loop for each call. It drops the
     * calls that an open breaker refuses: within a second they would push out the events that show why the
     * breaker opened.
     */
    @Bean
    EventConsumerRegistry<CircuitBreakerEvent> circuitBreakerEvents() {
        return new EventRings<>(event -> event.getEventType() != CircuitBreakerEvent.Type.NOT_PERMITTED);
    }

    /**
     * Replaces Resilience4j's own registry too. Bulkheads publish only the events of calls that they reject.
     */
    @Bean
    EventConsumerRegistry<BulkheadEvent> bulkheadEvents() {
        return new EventRings<>(event -> true);
    }

    @Bean
    RecentEvents recentEvents(CircuitBreakerRegistry breakers) {
        RecentEvents recentEvents = new RecentEvents(InstantSource.system());
        recentEvents.watch(breakers);
        return recentEvents;
    }

    @Bean
    MeterBook meterBook(MeterRegistry registry, TlsEngine engine, ObjectProvider<QueuedLog> log) {
        MeterBook meterBook = new MeterBook(registry);
        BuildMeters.show(
                meterBook, BuildVersion.current(), System.getProperty("java.version", "unknown"), engine.word());
        log.ifAvailable(queued -> LogMeters.show(meterBook, queued::dropped));
        return meterBook;
    }

    /** Not closed with the application: the last scrape still reads it. */
    @Bean(destroyMethod = "")
    EdgeMeters edgeMeters(
            MeterBook meterBook,
            GatewayState state,
            OverloadSampler sampler,
            ObjectProvider<EdgeServer> server,
            ClientLimits clients,
            ObjectProvider<AccessLog> accessLog) {
        // The server is created later: it needs the recorder, which needs these meters.
        return new EdgeMeters(
                meterBook,
                state.engine(),
                state.guard(),
                sampler,
                state.drain(),
                new ServerConnections(server),
                new ClientFigures(clients),
                accessLog.getIfAvailable());
    }

    @Bean
    EdgeRecorder edgeRecorder(EdgeMeters meters, ObjectProvider<AccessLog> accessLog, ObjectProvider<Tracing> tracing) {
        return new EdgeRecorder(
                meters, accessLog.getIfAvailable(), tracing.getIfAvailable(), new ShedLines(System::nanoTime));
    }

    @Bean
    RouteRecorders routeRecorders(
            MeterBook meterBook, ObjectProvider<AccessLog> accessLog, ObjectProvider<Tracing> tracing) {
        return new RouteRecorders(meterBook, accessLog.getIfAvailable(), tracing.getIfAvailable());
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnProperty("weir.tracing.enabled")
    Tracing tracing(WeirProperties properties, Engine engine, MeterBook meterBook) {
        Tracing tracing = Tracing.open(properties.tracing(), InstantSource.system(), engine::nanoTime);
        TracingMeters.show(meterBook, tracing::exported, tracing::dropped, tracing::failed);
        return tracing;
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnProperty(name = "weir.access-log.enabled", matchIfMissing = true)
    AccessLog accessLog(WeirProperties properties) throws IOException {
        return AccessLog.open(properties.accessLog(), System::currentTimeMillis);
    }

    private record ServerConnections(ObjectProvider<EdgeServer> server) implements EdgeMeters.Connections {

        @Override
        public int open() {
            return server.getObject().connections().open();
        }

        @Override
        public int limit() {
            return server.getObject().connections().limit();
        }

        @Override
        public long rejected() {
            return server.getObject().connections().rejected();
        }
    }

    private record ClientFigures(ClientLimits limits) implements EdgeMeters.Clients {

        @Override
        public int clients() {
            return limits.clients();
        }

        @Override
        public int connectionLimit() {
            return limits.connectionLimit();
        }

        @Override
        public long rejectedConnections() {
            return limits.rejectedConnections();
        }

        @Override
        public int requestLimit() {
            return limits.requestLimit();
        }

        @Override
        public long refusedRequests() {
            return limits.refusedRequests();
        }
    }
}
