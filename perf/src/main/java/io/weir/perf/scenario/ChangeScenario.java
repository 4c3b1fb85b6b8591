package io.weir.perf.scenario;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import io.weir.perf.scenario.ChangingBackend.Answer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * Changes inside a backend that are no outage: its calls become slower, their mix changes, one of its routes
 * or callers fails. All limits have their defaults. Each case has a backend of its own behind one gateway.
 * The cases of a group run at once.
 */
record ChangeScenario(Scenario.Options options) {

    interface Callers {
        void call(Traffic traffic, PromiseTable promises) throws Exception;
    }

    /**
     * A case with a gateway's backend of its name.
     *
     * @param properties of the backend, in YAML's flow style
     * @param routes the names of its routes: route {@code r} has the paths {@code /r/...}
     */
    record Case(String name, String properties, List<String> routes, Callers callers) {}

    /** The gateway and the backend of a case. */
    record Traffic(int port, ChangingBackend backend, RunningServer gateway) {

        void answer(String path, long millis) {
            backend.set(path, Answer.ok(millis));
        }

        OpenLoad load(String... paths) {
            return new OpenLoad(port, List.of(paths), 1000, Duration.ofSeconds(45), 2);
        }
    }

    PromiseTable run() throws Exception {
        ChangeCases latencies = new ChangeCases(options);
        EvidenceCases evidence = new EvidenceCases(options);
        List<List<Case>> groups = new ArrayList<>(latencies.groups());
        groups.addAll(evidence.groups());
        Case pause = latencies.pause();
        List<Case> all = Stream.concat(groups.stream().flatMap(List::stream), Stream.of(pause))
                .toList();
        try (ChangingBackend backend = new ChangingBackend();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                Processes processes = Processes.unlimited()) {
            List<String> arguments = new ArrayList<>(List.of(
                    configure(all, backend.port(), processes.directory()).toString()));
            all.forEach(one -> arguments.addAll(options.disable(one.name())));
            arguments.addAll(options.calm());
            RunningServer gateway = options.startGateway(processes, backend.port(), backend.port(), arguments);
            Traffic traffic = new Traffic(gateway.port(), backend, gateway);
            // The first calls of a cold JVM are slow.
            traffic.load('/' + all.getFirst().routes().getFirst() + "/1")
                    .unrecorded()
                    .run(200, options.seconds(4, 10));

            PromiseTable promises = new PromiseTable();
            for (List<Case> group : groups) {
                List<Future<PromiseTable>> results = new ArrayList<>();
                for (Case one : group) {
                    results.add(threads.submit(() -> run(one, traffic)));
                }
                for (Future<PromiseTable> result : results) {
                    promises.addAll(result.get());
                }
            }
            promises.addAll(run(pause, traffic));
            return promises;
        }
    }

    private static PromiseTable run(Case one, Traffic traffic) throws Exception {
        PromiseTable promises = new PromiseTable();
        one.callers().call(traffic, promises);
        return promises;
    }

    private static Path configure(List<Case> cases, int port, Path directory) throws IOException {
        StringBuilder routes = new StringBuilder("spring.cloud.gateway.server.webflux.routes:\n");
        StringBuilder backends = new StringBuilder("weir:\n  backends:\n");
        for (Case one : cases) {
            for (String route : one.routes()) {
                routes.append("  - { id: %s, uri: \"backend://%s\", predicates: [ \"Path=/%s/**\" ] }%n"
                        .formatted(route, one.name(), route));
            }
            backends.append("    %s: { uri: \"http://127.0.0.1:%d\"%s }%n"
                    .formatted(one.name(), port, one.properties().isEmpty() ? "" : ", " + one.properties()));
        }
        return Files.writeString(directory.resolve("change.yml"), routes.toString() + backends);
    }
}
