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
 * Gives a POST to the endpoint {@code weir} all that its body has, under one name: Spring Boot passes over what is no
 * parameter's name, and no parameter can be called {@code max-concurrent-calls}.
 */
public final class LimitsOfBody implements OperationInvokerAdvisor {

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

    static Map<String, Object> withLimits(Map<String, Object> given) {
        Map<String, Object> limits = new LinkedHashMap<>(given);
        limits.keySet().removeAll(WeirEndpoint.PARAMETERS);
        Map<String, Object> arguments = new LinkedHashMap<>(given);
        arguments.put(LIMITS, limits);
        return arguments;
    }
}
