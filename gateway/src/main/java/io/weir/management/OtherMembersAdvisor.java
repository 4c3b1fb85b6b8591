package io.weir.management;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.InvocationContext;
import org.springframework.boot.actuate.endpoint.OperationType;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvoker;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvokerAdvisor;
import org.springframework.boot.actuate.endpoint.invoke.OperationParameters;

/**
 * Collects the members in the body of a POST that are no parameters of the operation into one argument.
 *
 * <p>Spring Boot ignores them. But a Java parameter cannot have a name such as {@code max-concurrent-calls};
 * and with {@code percnt} in place of {@code percent}, a fault would act on all calls.
 */
public final class OtherMembersAdvisor implements OperationInvokerAdvisor {

    /** The argument with the limits. */
    static final String LIMITS = "limits";

    private final EndpointId endpoint;
    private final Set<String> parameters;
    private final String argument;

    /**
     * An advisor of an endpoint with one write operation.
     *
     * @param parameters the names of the operation's parameters, except the argument
     * @param argument the name of the parameter that receives all other members
     */
    private OtherMembersAdvisor(String endpoint, Set<String> parameters, String argument) {
        this.endpoint = EndpointId.of(endpoint);
        this.parameters = parameters;
        this.argument = argument;
    }

    /** Collects the limits for {@link WeirEndpoint}. */
    public static OtherMembersAdvisor limits() {
        return new OtherMembersAdvisor("weir", WeirEndpoint.PARAMETERS, LIMITS);
    }

    /** Collects the unknown members for {@link WeirFaultsEndpoint}, which refuses them. */
    public static OtherMembersAdvisor unknown() {
        return new OtherMembersAdvisor("weirfaults", WeirFaultsEndpoint.PARAMETERS, "unknown");
    }

    @Override
    public OperationInvoker apply(
            EndpointId id, OperationType type, OperationParameters operationParameters, OperationInvoker invoker) {
        if (!endpoint.equals(id) || type != OperationType.WRITE) {
            return invoker;
        }
        return context -> {
            SecurityContext security = context.resolveArgument(SecurityContext.class);
            Map<String, Object> arguments = collect(context.getArguments());
            return invoker.invoke(new InvocationContext(security == null ? SecurityContext.NONE : security, arguments));
        };
    }

    /** The members of the body, with those that are no parameters in the argument too. */
    Map<String, Object> collect(Map<String, Object> body) {
        Map<String, Object> others = new LinkedHashMap<>(body);
        others.keySet().removeAll(parameters);
        Map<String, Object> arguments = new LinkedHashMap<>(body);
        arguments.put(argument, others);
        return arguments;
    }
}
