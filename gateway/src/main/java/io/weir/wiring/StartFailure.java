package io.weir.wiring;

import io.weir.config.check.InvalidConfigurationException;
import java.net.BindException;
import org.springframework.boot.web.server.PortInUseException;
import reactor.netty.ChannelBindException;

/**
 * The exit code of a start that fails after the check of its configuration. Spring Boot alone exits with 1 in
 * every case, as for an invalid configuration, which a service manager must not start again.
 */
public final class StartFailure {

    /** The configuration has changed since its check, and is invalid, or a property of Spring Boot is. */
    static final int INVALID_CONFIGURATION = 1;

    /** A port is in use, or its address is not this machine's. Java uses 3 itself when memory runs out. */
    static final int PORT_IN_USE = 4;

    static final int OTHER = 5;

    /** More causes than this are a cycle. */
    private static final int MAX_CAUSES = 50;

    private StartFailure() {}

    /** The exit code of a failure, which Spring Boot has logged. */
    public static int exitCode(Throwable failure) {
        Throwable cause = failure;
        for (int depth = 0; cause != null && depth < MAX_CAUSES; depth++) {
            if (cause instanceof InvalidConfigurationException
                    || cause instanceof org.springframework.boot.context.properties.bind.BindException) {
                return INVALID_CONFIGURATION;
            }
            if (cause instanceof PortInUseException
                    || cause instanceof ChannelBindException
                    || cause instanceof BindException) {
                return PORT_IN_USE;
            }
            cause = cause.getCause();
        }
        return OTHER;
    }
}
