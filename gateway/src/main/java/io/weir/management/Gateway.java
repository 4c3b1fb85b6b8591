package io.weir.management;

import io.weir.door.RouteView;
import io.weir.engine.Backend;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** Read access to the configuration in force, for the endpoints. */
public interface Gateway {

    /** The backends, by name. */
    Map<String, Backend> backends();

    /** The routes, in the order in which they are matched. */
    Collection<RouteView> routes();

    /** The changes of operators that are in force, by backend. */
    default Map<String, List<OperatorChangeView>> operatorChanges() {
        return Map.of();
    }

    /** The configuration in force. */
    default ConfigurationState configuration() {
        return ConfigurationState.UNKNOWN;
    }

    /** The injected faults that are active, the oldest first. */
    default List<FaultView> faults() {
        return List.of();
    }
}
