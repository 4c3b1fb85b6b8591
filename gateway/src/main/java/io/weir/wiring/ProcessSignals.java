package io.weir.wiring;

import java.lang.reflect.Proxy;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a stop by SIGTERM an exit with code 0. Java's own handler exits with 143 after the same drain, which
 * systemd, Docker and Kubernetes report as a failure. SIGUSR1, which would end the process without a drain,
 * is ignored: scripts for other servers send it to reopen log files.
 *
 * <p>The handler belongs to {@code sun.misc.Signal}, the only API for signals. It is used by reflection,
 * since javac warns of each direct use.
 */
public final class ProcessSignals {

    private static final Logger log = LoggerFactory.getLogger(ProcessSignals.class);

    private ProcessSignals() {}

    /**
     * Replaces Java's handlers. The shutdown hooks run as before. Without the API, or where {@code -Xrs}
     * reserves a signal, its handler stays as it is.
     */
    public static void handle() {
        handle("TERM", () -> System.exit(0));
        handle("USR1", () -> log.warn("SIGUSR1 is ignored (expected: SIGTERM to stop; log files need no signal)"));
    }

    private static void handle(String name, Runnable action) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object handling = Proxy.newProxyInstance(
                    handler.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                        if (method.getDeclaringClass() == handler) {
                            action.run();
                        }
                        return switch (method.getName()) {
                            case "equals" -> proxy == arguments[0];
                            case "hashCode" -> System.identityHashCode(proxy);
                            default -> "handles " + name;
                        };
                    });
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance(name), handling);
        } catch (ReflectiveOperationException e) {
            log.debug("SIG{} has Java's own handler: {}", name, e.toString());
        }
    }
}
