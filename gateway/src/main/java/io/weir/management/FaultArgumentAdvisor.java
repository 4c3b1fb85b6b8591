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
 * Collects the unknown members in the body of a POST to the endpoint {@code weirfaults} into one argument,
 * {@value #UNKNOWN}, so that the endpoint refuses them. Spring Boot ignores them: with {@code percnt} in
 * place of {@code percent}, a fault would act on all calls.
 */
public final class FaultArgumentAdvisor implements OperationInvokerAdvisor {

    static final String UNKNOWN = "unknown";
    private static final EndpointId WEIR_FAULTS = EndpointId.of("weirfaults");

    @Override
    public OperationInvoker apply(
            EndpointId endpoint, OperationType type, OperationParameters parameters, OperationInvoker invoker) {
        if (!WEIR_FAULTS.equals(endpoint) || type != OperationType.WRITE) {
            return invoker;
        }
        return context -> {
            SecurityContext security = context.resolveArgument(SecurityContext.class);
            Map<String, Object> arguments = withUnknown(context.getArguments());
            return invoker.invoke(new InvocationContext(security == null ? SecurityContext.NONE : security, arguments));
        };
    }

    static Map<String, Object> withUnknown(Map<String, Object> body) {
        Map<String, Object> unknown = new LinkedHashMap<>(body);
        unknown.keySet().removeAll(WeirFaultsEndpoint.PARAMETERS);
        Map<String, Object> arguments = new LinkedHashMap<>(body);
        arguments.put(UNKNOWN, unknown);
        return arguments;
    }
}
