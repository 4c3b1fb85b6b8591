package io.weir.sim.faults;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.sim.stack.StartProblem;
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

/** Puts the board in the way of the service's requests. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnWebApplication
class FaultsConfiguration {

    @Bean(destroyMethod = "shutdownNow")
    ScheduledThreadPoolExecutor faultsAlarm() {
        ScheduledThreadPoolExecutor alarm = new ScheduledThreadPoolExecutor(
                1, Thread.ofPlatform().daemon().name("faults").factory());
        alarm.setRemoveOnCancelPolicy(true);
        return alarm;
    }

    @Bean
    FaultBoard faultBoard(
            ScheduledThreadPoolExecutor faultsAlarm,
            DatabaseFaults database,
            FaultsProperties properties,
            MeterRegistry meters) {
        FaultBoard board = new FaultBoard(
                System::nanoTime,
                (time, action) -> {
                    ScheduledFuture<?> alarm = faultsAlarm.schedule(action, time.toNanos(), TimeUnit.NANOSECONDS);
                    return () -> alarm.cancel(false);
                },
                database);
        for (FaultKind kind : FaultKind.values()) {
            Gauge.builder("sim.faults.on", board, here -> here.countOn(kind))
                    .description("Faults of that kind that are on")
                    .tag("kind", kind.id())
                    .register(meters);
            FunctionCounter.builder("sim.faults.hits", board, here -> here.countHits(kind))
                    .description("Requests that a fault of that kind has struck")
                    .tag("kind", kind.id())
                    .register(meters);
        }
        try {
            FaultDocument document = properties.document();
            board.replace(document.read("sim.faults."), document.seedOrDefault());
        } catch (FaultProblem e) {
            throw new StartProblem(
                    String.valueOf(e.getMessage()), "Write the faults as in a document for PUT /faults.", e);
        }
        return board;
    }

    @Bean
    InFlight inFlight(MeterRegistry meters) {
        return new InFlight(meters);
    }

    @Bean
    FaultsControl faultsControl(FaultBoard board, FaultsProperties properties) {
        return new FaultsControl(board, new FaultsDocuments(), properties.remote());
    }

    /** On SIGTERM faults heal first, so that what they hold can be answered while the server drains. */
    @Bean
    SmartLifecycle faultsHealBeforeDraining(FaultBoard board) {
        return new SmartLifecycle() {
            private volatile boolean running;

            @Override
            public void start() {
                running = true;
            }

            @Override
            public void stop() {
                running = false;
                board.heal();
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

    /** On Tomcat. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    static class OnTomcat {

        @Bean
        ServletFaults servletFaults(FaultBoard board, InFlight inFlight) {
            return new ServletFaults(board, inFlight);
        }

        /** Inside the observation, so that requests which a fault holds are seen to be in flight. */
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

    /** On Netty. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
    static class OnNetty {

        @Bean
        NettyFaults nettyFaults(FaultBoard board, InFlight inFlight, ApplicationContext context) {
            return new NettyFaults(board, inFlight, context);
        }
    }
}
