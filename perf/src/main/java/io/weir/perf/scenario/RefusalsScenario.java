package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.core.io.ClassPathResource;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/**
 * Traffic that protections once harmed, and callers that once harmed others. Each case has a backend of its
 * own behind one gateway. A quick run has all cases at once, a full one those with much load one by one.
 *
 * <p>A full run begins with the backend whose limit is not configured, alone: in a quick run, late answers of
 * a cold JVM on a busy machine keep its limit low, and the other cases' load makes the gateway shed.
 */
record RefusalsScenario(Scenario.Options options) {

    record CaseRoute(int port, String name) {

        OpenLoad load() {
            return load("1");
        }

        OpenLoad load(String path) {
            return Scenario.load(port, "/" + name + "/" + path);
        }
    }

    interface Callers {
        void call(CaseRoute route, PromiseTable promises) throws Exception;
    }

    /**
     * A case with a backend and a route of its name in {@code refusals.yml}, and the protection that it
     * shows. {@code service} completes when an answer is due.
     */
    record Case(String name, String protection, Function<HttpServerRequest, Mono<Void>> service, Callers callers) {

        PromiseTable run(int port) throws Exception {
            PromiseTable promises = new PromiseTable();
            callers.call(new CaseRoute(port, name), promises);
            return promises;
        }
    }

    PromiseTable run() throws Exception {
        BreakerCases breaker = new BreakerCases(options);
        CallerCases callers = new CallerCases(options);
        List<Case> first = options.quick() ? List.of() : List.of(breaker.untuned());
        List<Case> light = new ArrayList<>(breaker.light());
        light.addAll(callers.light());
        List<Case> heavy = new ArrayList<>(List.of(breaker.heavy()));
        heavy.addAll(callers.heavy());
        List<Case> all = Stream.of(first, light, heavy).flatMap(List::stream).toList();
        Map<String, Case> byName = all.stream().collect(Collectors.toMap(Case::name, one -> one));
        try (LightBackend backend = LightBackend.answeringOk(request -> Objects.requireNonNull(
                                byName.get(request.uri().split("/", 3)[1]))
                        .service()
                        .apply(request));
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                Processes processes = Processes.unlimited()) {
            List<String> arguments = configure(all, processes.directory());
            RunningServer gateway = options.startGateway(processes, backend.port(), backend.port(), arguments);
            // The first calls of a cold JVM are slow, and a backend's usual time decides when it stalls.
            new CaseRoute(gateway.port(), BreakerCases.LOW_TRAFFIC).load().run(200, options.seconds(6, 10));
            PromiseTable promises = new PromiseTable();
            for (Case one : first) {
                promises.addAll(one.run(gateway.port()));
            }
            List<Future<PromiseTable>> results = new ArrayList<>();
            for (Case one : light) {
                results.add(threads.submit(() -> one.run(gateway.port())));
            }
            for (Case one : heavy) {
                if (!options.quick()) {
                    for (Future<?> earlier : results) {
                        earlier.get();
                    }
                }
                results.add(threads.submit(() -> one.run(gateway.port())));
            }
            for (Future<PromiseTable> result : results) {
                promises.addAll(result.get());
            }
            return promises;
        }
    }

    private List<String> configure(List<Case> cases, Path directory) throws IOException {
        String text = new ClassPathResource("refusals.yml", RefusalsScenario.class)
                .getContentAsString(StandardCharsets.UTF_8);
        Path file = Files.writeString(directory.resolve("refusals.yml"), text);
        List<String> arguments = new ArrayList<>(List.of(file.toString()));
        cases.forEach(one -> arguments.addAll(options.disable(one.name(), one.protection())));
        if (options.quick()) {
            // A busy machine delays some of the calls from which the gateway learns the usual time.
            for (String name : List.of(BreakerCases.LOW_TRAFFIC, "open-1", "open-6", "open-20")) {
                arguments.add("--weir.backends." + name + ".circuit-breaker.stall-duration=1s");
            }
        }
        arguments.addAll(options.calm());
        return arguments;
    }
}
