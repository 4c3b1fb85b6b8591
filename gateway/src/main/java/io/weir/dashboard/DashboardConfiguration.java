package io.weir.dashboard;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.springframework.boot.actuate.autoconfigure.endpoint.web.WebEndpointProperties;
import org.springframework.boot.actuate.autoconfigure.web.server.ConditionalOnManagementPort;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.context.annotation.Bean;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;

/**
 * Adds the page and the streams to the application context of the management port, behind its guard.
 *
 * <p>Spring Boot reads the class's name from {@code
 * META-INF/spring/...ManagementContextConfiguration.imports}. The class has no stereotype annotation on
 * purpose: a component scan would add them to the gateway's own port, too.
 */
public class DashboardConfiguration {

    private static final MediaType HTML = new MediaType("text", "html", StandardCharsets.UTF_8);
    private static final MediaType CSS = new MediaType("text", "css", StandardCharsets.UTF_8);
    private static final MediaType SCRIPT = new MediaType("text", "javascript", StandardCharsets.UTF_8);

    /** The page's scripts; the management guard serves them without the token. */
    static final List<String> SCRIPTS =
            List.of("dashboard.js", "elements.js", "limit.js", "card.js", "table.js", "fleet.js");

    /** The page, its files and the streams; only on a management port of its own. */
    @Bean
    @ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
    static RouterFunction<ServerResponse> dashboard(LiveFeed feed, WebEndpointProperties endpoints) {
        String base = endpoints.getBasePath().replaceFirst("^/", "");
        DashboardFile page = new DashboardFile("dashboard.html", HTML, base);
        DashboardFile style = new DashboardFile("dashboard.css", CSS, base);
        LiveStream stream = new LiveStream(feed);
        RouterFunctions.Builder routes = RouterFunctions.route()
                .GET("/dashboard", request -> page.answer())
                .GET("/dashboard/dashboard.css", request -> style.answer());
        for (String name : SCRIPTS) {
            DashboardFile script = new DashboardFile(name, SCRIPT, base);
            routes.GET("/dashboard/" + name, request -> script.answer());
        }
        return routes.GET('/' + base + "/weirstream", request -> stream.open(LiveFeed.Format.SNAPSHOTS, request))
                .GET("/hystrix.stream", request -> stream.open(LiveFeed.Format.HYSTRIX, request))
                .build();
    }
}
