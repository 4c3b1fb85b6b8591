package io.weir.apply;

import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.event.RefreshRoutesEvent;
import org.springframework.context.ApplicationEventPublisher;

/**
 * The parts of Spring Cloud Gateway that must be notified of a new configuration.
 *
 * @param properties the properties bean, which Spring Cloud Gateway's endpoints and filters read
 * @param events publishes to the application's listeners
 */
public record SpringCloudGateway(GatewayProperties properties, ApplicationEventPublisher events) {

    void show(GatewayProperties next) {
        properties.setRoutes(next.getRoutes());
        properties.setDefaultFilters(next.getDefaultFilters());
    }

    void publishRoutesChanged(Object source) {
        events.publishEvent(new RefreshRoutesEvent(source));
    }
}
