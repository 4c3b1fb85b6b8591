package io.weir.apply;

import io.weir.instance.InstanceAddress;
import io.weir.instance.PolledAddresses;
import java.net.URI;
import java.util.List;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.ReactiveDiscoveryClient;
import reactor.core.publisher.Mono;

/**
 * Asks Spring Cloud's discovery for the instances of a service.
 *
 * @param client all discovery clients of the gateway
 * @param service the name of the service
 */
record DiscoveryLookup(ReactiveDiscoveryClient client, String service) implements PolledAddresses.Lookup {

    @Override
    public Mono<List<InstanceAddress>> start() {
        return client.getInstances(service).map(DiscoveryLookup::address).collectList();
    }

    private static InstanceAddress address(ServiceInstance instance) {
        String text = (instance.isSecure() ? "https" : "http") + "://" + authority(instance);
        URI uri = URI.create(text);
        if (uri.getHost() == null || uri.getPort() == 0) {
            throw new IllegalArgumentException(
                    "instance: " + text + " (expected: a host, and a port from 1 to 65535 or none)");
        }
        return InstanceAddress.of(uri, 1);
    }

    private static String authority(ServiceInstance instance) {
        String host = String.valueOf(instance.getHost());
        String bracketed = host.contains(":") && !host.startsWith("[") ? '[' + host + ']' : host;
        return instance.getPort() < 0 ? bracketed : bracketed + ':' + instance.getPort();
    }
}
