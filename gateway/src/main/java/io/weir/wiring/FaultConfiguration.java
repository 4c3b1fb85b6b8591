package io.weir.wiring;

import io.weir.config.WeirProperties;
import io.weir.engine.Engine;
import io.weir.faults.InjectedFaults;
import io.weir.management.FaultReporter;
import io.weir.management.Gateway;
import io.weir.management.OtherMembersAdvisor;
import io.weir.management.RecentEvents;
import io.weir.management.WeirFaultsEndpoint;
import io.weir.metrics.FaultMeters;
import io.weir.metrics.MeterBook;
import java.time.InstantSource;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import reactor.core.scheduler.Schedulers;

/** Wires the faults that operators inject. */
@Configuration(proxyBeanMethods = false)
class FaultConfiguration {

    @Bean(destroyMethod = "close")
    InjectedFaults injectedFaults(
            WeirProperties properties, Engine engine, RecentEvents recentEvents, MeterBook meterBook) {
        InjectedFaults faults = new InjectedFaults(
                properties.faults(),
                engine::inject,
                new FaultReporter(recentEvents),
                // The end of a fault is logged; a parallel thread must not wait for the log.
                (task, delayNanos) ->
                        Schedulers.boundedElastic().schedule(task, delayNanos, TimeUnit.NANOSECONDS)::dispose,
                System::nanoTime,
                InstantSource.system(),
                () -> ThreadLocalRandom.current().nextDouble());
        FaultMeters.show(meterBook, () -> faults.active().size());
        return faults;
    }

    @Bean
    WeirFaultsEndpoint weirFaultsEndpoint(InjectedFaults faults, Gateway gateway) {
        return new WeirFaultsEndpoint(faults, gateway);
    }

    @Bean
    OtherMembersAdvisor unknownFaultMembersAdvisor() {
        return OtherMembersAdvisor.unknown();
    }
}
