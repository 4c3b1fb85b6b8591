package io.weir;

import java.lang.reflect.Proxy;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a stop by SIGTERM an exit with code 0. Java's own handler exits with 143 after the same drain, which
 * systemd, Docker and Kubernetes report as a failure.
 *
 * <p>The handler belongs to {@code sun.misc.Signal}, the only API for signals. It is used by reflection,
 * since javac warns of each direct use.
 */
final class StopSignal {

    private static final Logger log = LoggerFactory.getLogger(StopSignal.class);

    private StopSignal() {}

    /**
     * Replaces Java's handler of SIGTERM. The shutdown hooks run as before. Without the API, or where {@code
     * -Xrs} reserves the signal, the handler stays as it is.
     */
    static void exitWithZero() {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object exit = Proxy.newProxyInstance(
                    handler.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                        if (method.getDeclaringClass() == handler) {
                            System.exit(0);
                        }
                        return switch (method.getName()) {
                            case "equals" -> proxy == arguments[0];
                            case "hashCode" -> System.identityHashCode(proxy);
                            default -> "exits with 0";
                        };
                    });
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance("TERM"), exit);
        } catch (ReflectiveOperationException e) {
            log.debug("SIGTERM ends this process with exit code 143: {}", e.toString());
        }
    }
}
