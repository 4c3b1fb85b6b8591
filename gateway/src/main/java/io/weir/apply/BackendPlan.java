package io.weir.apply;

import io.weir.engine.Backend;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The backends of the next configuration. All steps that can fail have succeeded; no backend in force has
 * changed yet.
 */
final class BackendPlan {

    private final Map<String, ManagedBackend> backends = new LinkedHashMap<>();
    private final List<Runnable> rollbackSteps = new ArrayList<>();

    void put(String name, ManagedBackend backend) {
        backends.put(name, backend);
    }

    /** Adds a step that undoes one side effect of planning. */
    void onRollback(Runnable step) {
        rollbackSteps.add(step);
    }

    /** The planned backends, by name. */
    Map<String, ManagedBackend> managedBackends() {
        return backends;
    }

    /** The planned backends as the engine uses them, by name. */
    Map<String, Backend> backends() {
        Map<String, Backend> byName = new LinkedHashMap<>();
        backends.forEach((name, managed) -> byName.put(name, managed.backend()));
        return byName;
    }

    /** Discards the plan: closes and unregisters everything that was created for it, the last part first. */
    void rollBack() {
        rollbackSteps.reversed().forEach(step -> LoggedStep.run("rolling back a planned backend", step));
    }
}
