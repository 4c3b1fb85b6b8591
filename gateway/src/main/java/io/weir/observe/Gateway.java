package io.weir.observe;

import io.weir.engine.Backend;
import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The gateway as the endpoint {@code weir} shows it: what the configuration in force has made. */
public interface Gateway {

    /** The backends, by name. */
    Map<String, Backend> backends();

    /** The routes, in the order in which they are tried. */
    Collection<RouteView> routes();

    /**
     * A route.
     *
     * @param id its id
     * @param backend the name of the backend that it leads to; null: it leads to none
     * @param door {@code compiled} or {@code general}
     * @param why why it takes the general door; null if it does not
     */
    record RouteView(
            String id,
            @Nullable String backend,
            String door,
            @Nullable String why) {}
}
