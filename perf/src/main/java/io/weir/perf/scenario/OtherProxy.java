package io.weir.perf.scenario;

import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.Processes;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.springframework.core.io.ClassPathResource;

/** A proxy that the gateway is compared with, if it is installed. Its configuration is a resource. */
enum OtherProxy {
    /** The values: milliseconds that a call may wait for its turn, and the limit of concurrent calls. */
    HAPROXY("haproxy.cfg", "-db -q -f"),
    /** Has the values of its documentation's example for adaptive concurrency. */
    ENVOY("envoy.yaml", "--disable-hot-restart --log-level error -c");

    private final String file;
    private final String options;

    OtherProxy(String file, String options) {
        this.file = file;
        this.options = options;
    }

    /** The name of the program, and of its figures. */
    String program() {
        return name().toLowerCase(Locale.ROOT);
    }

    boolean isInstalled() {
        return Host.has(program());
    }

    /** Starts the proxy in front of a backend; returns its port. */
    int start(Processes processes, int backendPort, Object... values) throws Exception {
        List<Object> all = new ArrayList<>(List.of(backendPort));
        all.addAll(List.of(values));
        return start(processes, file, all);
    }

    /** Starts the proxy in front of the instances of a backend; returns its port. */
    int startBefore(Processes processes, List<Integer> instances) throws Exception {
        return start(processes, "instances-" + file, instances);
    }

    /** Starts the proxy with the configuration of a scenario in front of a backend; returns its port. */
    int startFor(String scenario, Processes processes, int backendPort) throws Exception {
        return start(processes, scenario + '-' + file, List.of(backendPort));
    }

    private int start(Processes processes, String resource, List<?> values) throws Exception {
        int port = Host.freePort();
        List<Object> all = new ArrayList<>(List.of(port));
        all.addAll(values);
        String text = new ClassPathResource(resource, OtherProxy.class).getContentAsString(StandardCharsets.UTF_8);
        Path path = Files.writeString(processes.directory().resolve(resource), text.formatted(all.toArray()));
        List<String> command = List.of((program() + ' ' + options + ' ' + path).split(" ", -1));
        processes.start(program(), command, Map.of());
        processes.await(program() + " answers", () -> HttpControl.answers("http://127.0.0.1:" + port + "/"));
        return port;
    }
}
