package io.weir.wiring;

import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** All configuration classes of the gateway. */
@Configuration(proxyBeanMethods = false)
@Import({
    BackendConfiguration.class,
    DrainConfiguration.class,
    EngineConfiguration.class,
    FaultConfiguration.class,
    FleetConfiguration.class,
    ManagementConfiguration.class,
    ObservationConfiguration.class,
    ReloadConfiguration.class,
    RoutingConfiguration.class,
    TlsConfiguration.class,
    WarmUpConfiguration.class
})
public class Wiring {}
