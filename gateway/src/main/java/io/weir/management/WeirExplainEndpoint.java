package io.weir.management;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.door.Explanation;
import io.weir.door.RouteExplainer;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;

/**
 * The management endpoint {@code weirexplain}: {@code GET /actuator/weirexplain?method=GET&url=URL} tells
 * which route a request takes, and which predicates of the others fail. {@code header=Name:value}, which may
 * be repeated, adds header fields.
 */
@Endpoint(id = "weirexplain")
public class WeirExplainEndpoint {

    private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");

    private final RouteExplainer explainer;

    /** The endpoint of a gateway. */
    public WeirExplainEndpoint(RouteExplainer explainer) {
        this.explainer = explainer;
    }

    /**
     * The response.
     *
     * @param served whether a route serves the request
     * @param lines the explanation for a reader
     */
    record View(boolean served, List<String> lines, Explanation explanation) {}

    /**
     * Explains a request, on an elastic thread: a gateway can have ten thousand routes.
     *
     * @param method its method
     * @param url an absolute URL, or a path
     * @param header one field as a text, or several as a list. The type is open because Spring would split a
     *     text at its commas.
     */
    @ReadOperation
    public Mono<WebEndpointResponse<Object>> explain(String method, String url, @Nullable Object header) {
        return ManagementCaller.run(by -> new WebEndpointResponse<>(explained(method, url, header)));
    }

    private View explained(String method, String url, @Nullable Object header) {
        if (!TOKEN.matcher(method).matches()) {
            throw new IllegalArgumentException("method: " + method + " (expected: a method such as GET)");
        }
        List<?> texts = header == null ? List.of() : header instanceof List<?> several ? several : List.of(header);
        HttpHeaders fields = new DefaultHttpHeaders();
        texts.forEach(text -> addField(fields, String.valueOf(text)));
        Explanation explanation = explainer.explain(method, url, fields);
        return new View(explanation.isServed(), explanation.lines(), explanation);
    }

    private static void addField(HttpHeaders fields, String text) {
        int colon = text.indexOf(':');
        String name = colon < 0 ? text : text.substring(0, colon);
        if (colon < 0 || !TOKEN.matcher(name).matches()) {
            throw new IllegalArgumentException("header: " + text + " (expected: Name:value)");
        }
        fields.add(name, text.substring(colon + 1).strip());
    }
}
