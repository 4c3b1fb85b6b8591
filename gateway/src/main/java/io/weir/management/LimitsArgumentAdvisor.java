package io.weir.management;

import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.InvocationContext;
import org.springframework.boot.actuate.endpoint.OperationType;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvoker;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvokerAdvisor;
import org.springframework.boot.actuate.endpoint.invoke.OperationParameters;

/**
 * Collects the limits in the body of a POST to the endpoint {@code weir} into one argument, {@value #LIMITS}.
 *
 * <p>Spring Boot ignores members of the body that are no parameter of the operation, and a Java parameter
 * cannot have a name such as {@code max-concurrent-calls}.
 */
public final class LimitsArgumentAdvisor implements OperationInvokerAdvisor {

    static final String LIMITS = "limits";
    private static final EndpointId WEIR = EndpointId.of("weir");

    @Override
    public OperationInvoker apply(
            EndpointId endpoint, OperationType type, OperationParameters parameters, OperationInvoker invoker) {
        if (!WEIR.equals(endpoint) || type != OperationType.WRITE) {
            return invoker;
        }
        return context -> {
            SecurityContext security = context.resolveArgument(SecurityContext.class);
            Map<String, Object> arguments = withLimits(context.getArguments());
            return invoker.invoke(new InvocationContext(security == null ? SecurityContext.NONE : security, arguments));
        };
    }

    static Map<String, Object> withLimits(Map<String, Object> body) {
        Map<String, Object> limits = new LinkedHashMap<>(body);
        limits.keySet().removeAll(WeirEndpoint.PARAMETERS);
        Map<String, Object> arguments = new LinkedHashMap<>(body);
        arguments.put(LIMITS, limits);
        return arguments;
    }
}
