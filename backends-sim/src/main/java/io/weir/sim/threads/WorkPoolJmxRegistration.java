package io.weir.sim.threads;

import java.lang.management.ManagementFactory;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.stereotype.Component;

/** Registers the pool in JMX as {@code io.weir.sim:type=WorkPool}. */
@Component
@ConditionalOnWebApplication
class WorkPoolJmxRegistration implements AutoCloseable {

    private static final int INSTANCES_MAX = 100;

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    private final ObjectName name;

    WorkPoolJmxRegistration(WorkPool pool) throws JMException {
        this.name = register(pool);
    }

    /** Several simulators in one process, as in tests, get a number as their instance. */
    private ObjectName register(WorkPool pool) throws JMException {
        String base = "io.weir.sim:type=WorkPool";
        for (int instance = 1; instance <= INSTANCES_MAX; instance++) {
            ObjectName candidate = new ObjectName(instance == 1 ? base : base + ",instance=" + instance);
            if (tryRegister(candidate, pool)) {
                return candidate;
            }
        }
        throw new IllegalStateException(base + ": " + INSTANCES_MAX + " are registered (expected: fewer)");
    }

    private boolean tryRegister(ObjectName candidate, WorkPool pool) throws JMException {
        try {
            server.registerMBean(pool, candidate);
            return true;
        } catch (InstanceAlreadyExistsException e) {
            return false;
        }
    }

    ObjectName name() {
        return name;
    }

    @Override
    public void close() throws JMException {
        server.unregisterMBean(name);
    }
}
