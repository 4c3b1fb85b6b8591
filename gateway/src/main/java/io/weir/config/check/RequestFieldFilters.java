package io.weir.config.check;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.filter.factory.AbstractGatewayFilterFactory.NameConfig;
import org.springframework.cloud.gateway.filter.factory.AbstractNameValueGatewayFilterFactory.NameValueConfig;

/** Filters of request fields that only the gateway can write: it writes them after all filters. */
final class RequestFieldFilters {

    private static final String ADD = "AddRequestHeader";
    private static final String SET = "SetRequestHeader";
    private static final String REMOVE = "RemoveRequestHeader";

    /** With one of these, backends get the host that the request has after all filters. */
    private static final Set<String> PRESERVES_HOST = Set.of("PreserveHostHeader", "SetRequestHostHeader");

    private static final String HOST = "host";

    /** Written by the gateway in every request; {@code %s} is the route. */
    private static final Map<String, String> OWN = Map.of(
            "x-request-id", "the gateway sends the id of the call",
            "x-request-timeout", "the gateway sends the time left; use weir.routes.%s.deadline");

    private static final String OF_CONNECTION = "the field is for one connection, and the gateway writes its own";
    private static final String OF_BODY = "the field frames the body, which the gateway sends as it comes";

    /** Fields that no filter may write: left out of every request, or written by the gateway. */
    private static final Map<String, String> NOT_PASSED_ON = Map.of(
            "connection", OF_CONNECTION,
            "keep-alive", OF_CONNECTION,
            "proxy-connection", OF_CONNECTION,
            "proxy-authorization", OF_CONNECTION,
            "upgrade", OF_CONNECTION,
            "http2-settings", OF_CONNECTION,
            "expect", OF_BODY,
            "content-length", OF_BODY,
            "transfer-encoding", OF_BODY);

    private RequestFieldFilters() {}

    /** Why a route cannot have a filter, whatever other filters it has; null: it can. */
    static @Nullable String problem(ValidDefinition filter, String route) {
        String field = field(filter);
        if (field == null) {
            return null;
        }
        String name = filter.definition().name();
        if (OWN.containsKey(field)) {
            return String.valueOf(OWN.get(field)).formatted(route);
        }
        if (name.equals(ADD) && field.equals(HOST)) {
            return "a request has one Host; use SetRequestHeader and PreserveHostHeader";
        }
        return name.equals(REMOVE) ? null : NOT_PASSED_ON.get(field);
    }

    /** The filters that set a host which no backend gets: none of the route's filters preserves it. */
    static List<ValidDefinition> lostHosts(List<ValidDefinition> filters) {
        if (filters.stream()
                .anyMatch(filter -> PRESERVES_HOST.contains(filter.definition().name()))) {
            return List.of();
        }
        return filters.stream()
                .filter(filter -> filter.definition().name().equals(SET) && HOST.equals(field(filter)))
                .toList();
    }

    /** The field that a filter adds, sets or removes in requests, in lower case; null: another filter. */
    private static @Nullable String field(ValidDefinition filter) {
        if (!Set.of(ADD, SET, REMOVE).contains(filter.definition().name())) {
            return null;
        }
        String field =
                switch (filter.config()) {
                    case NameConfig one -> one.getName();
                    case NameValueConfig pair -> pair.getName();
                    default -> null;
                };
        return field == null ? null : field.toLowerCase(Locale.ROOT);
    }
}
