package io.weir.management;

import io.weir.door.RouteView;
import io.weir.engine.Backend;
import java.util.Collection;
import java.util.Map;

/** The gateway as the endpoint {@code weir} shows it: what the configuration in force has made. */
public interface Gateway {

    /** The backends, by name. */
    Map<String, Backend> backends();

    /** The routes, in the order in which they are tried. */
    Collection<RouteView> routes();
}
