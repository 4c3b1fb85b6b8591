package io.weir.metrics;

import java.util.List;
import java.util.stream.Stream;

/** The meters that the gateway defines. */
public final class AllMeters {

    private AllMeters() {}

    /** The meters of all subjects. */
    public static List<Meters> list() {
        return Stream.<Meters[]>of(RouteMeter.values(), BackendMeter.values(), GatewayMeter.values())
                .flatMap(Stream::of)
                .toList();
    }
}
