package io.weir.sim.faults;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.sim.stack.StartupException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.ApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;

/** Adds the faults to the service's request path. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnWebApplication
class FaultsConfiguration {

    @Bean(destroyMethod = "shutdownNow")
    ScheduledThreadPoolExecutor faultsTimer() {
        ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(
                1, Thread.ofPlatform().daemon().name("faults").factory());
        timer.setRemoveOnCancelPolicy(true);
        return timer;
    }

    @Bean
    FaultRegistry faultRegistry(
            ScheduledThreadPoolExecutor faultsTimer,
            DatabaseFaults database,
            FaultsProperties properties,
            MeterRegistry meters) {
        FaultRegistry registry = new FaultRegistry(
                System::nanoTime,
                (time, action) -> {
                    ScheduledFuture<?> timer = faultsTimer.schedule(action, time.toNanos(), TimeUnit.NANOSECONDS);
                    return () -> timer.cancel(false);
                },
                database);
        for (FaultKind kind : FaultKind.values()) {
            Gauge.builder("sim.faults.on", registry, faults -> faults.countActive(kind))
                    .description("Active faults of this kind")
                    .tag("kind", kind.id())
                    .register(meters);
            FunctionCounter.builder("sim.faults.hits", registry, faults -> faults.countHits(kind))
                    .description("How often faults of this kind took effect")
                    .tag("kind", kind.id())
                    .register(meters);
        }
        try {
            FaultScript document = properties.document();
            registry.replace(document.validate("sim.faults."), document.seedOrDefault());
        } catch (InvalidFaultException e) {
            throw new StartupException(
                    String.valueOf(e.getMessage()), "Write the faults as in a document for PUT /faults.", e);
        }
        return registry;
    }

    @Bean
    InFlightRequests inFlight(MeterRegistry meters) {
        return new InFlightRequests(meters);
    }

    @Bean
    FaultsRequestHandler faultsControl(FaultRegistry registry, FaultsProperties properties) {
        return new FaultsRequestHandler(registry, new FaultJson(), properties.remote());
    }

    /** On SIGTERM the faults heal first, so that the server can answer held requests while it drains. */
    @Bean
    SmartLifecycle faultsHealBeforeDraining(FaultRegistry registry) {
        return new SmartLifecycle() {
            private volatile boolean running;

            @Override
            public void start() {
                running = true;
            }

            @Override
            public void stop() {
                running = false;
                registry.heal();
            }

            @Override
            public boolean isRunning() {
                return running;
            }

            @Override
            public int getPhase() {
                return DEFAULT_PHASE;
            }
        };
    }

    /** Tomcat. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    static class OnTomcat {

        @Bean
        ServletFaults servletFaults(FaultRegistry registry, InFlightRequests inFlight) {
            return new ServletFaults(registry, inFlight);
        }

        /** After the observation filter, so that held requests count as active. */
        @Bean
        FilterRegistrationBean<ServletFaults> servletFaultsRegistration(ServletFaults faults) {
            FilterRegistrationBean<ServletFaults> registration = new FilterRegistrationBean<>(faults);
            registration.setOrder(Ordered.HIGHEST_PRECEDENCE + 10);
            registration.setDispatcherTypes(
                    jakarta.servlet.DispatcherType.REQUEST, jakarta.servlet.DispatcherType.ASYNC);
            registration.setAsyncSupported(true);
            return registration;
        }
    }

    /** Netty. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
    static class OnNetty {

        @Bean
        NettyFaults nettyFaults(FaultRegistry registry, InFlightRequests inFlight, ApplicationContext context) {
            return new NettyFaults(registry, inFlight, context);
        }
    }
}
