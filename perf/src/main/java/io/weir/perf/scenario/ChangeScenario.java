package io.weir.perf.scenario;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.run.OpenLoad;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.Processes;
import io.weir.perf.run.RunningServer;
import io.weir.perf.scenario.ChangingBackend.Answer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

/**
 * Changes inside a backend that are no outage: its calls become slower, their mix changes, one of its routes
 * or callers fails. All limits have their defaults. Each case has a backend of its own behind one gateway.
 * The cases of a group run at once. A full run shows the quick form of the cases beside it, through a gateway
 * with a fixed limit and through other proxies.
 */
record ChangeScenario(Scenario.Options options) {

    interface Callers {
        void call(Traffic traffic, PromiseTable promises) throws Exception;
    }

    /**
     * A case with a gateway's backend of its name.
     *
     * @param properties of the backend besides its deadline, in YAML's flow style
     * @param routes the names of its routes: route {@code r} has the paths {@code /r/...}
     */
    record Case(String name, Duration deadline, String properties, List<String> routes, Callers callers) {

        Case(String name, Duration deadline, List<String> routes, Callers callers) {
            this(name, deadline, "", routes, callers);
        }
    }

    /** What the callers of a case reach; {@code gateway} is empty for a peer. */
    record Traffic(int port, ChangingBackend backend, Optional<RunningServer> gateway) {

        void answer(String path, long millis) {
            backend.set(path, Answer.ok(millis));
        }

        OpenLoad load(String... paths) {
            return new OpenLoad(port, List.of(paths), 1000, Duration.ofSeconds(45), 2);
        }
    }

    PromiseTable run() throws Exception {
        PromiseTable promises = new PromiseTable();
        Case pause = new ChangeCases(options).pause();
        withBackend((processes, backend) -> {
            List<List<Case>> groups = groups(options);
            groups.add(List.of(pause));
            List<Case> cases = flat(groups);
            promises.addAll(run(groups, startGateway(processes, backend, cases, options)));
        });
        if (!options.quick()) {
            compare(promises);
        }
        return promises;
    }

    /** Shows the quick form of the cases through others: Weir with a fixed limit, and the installed peers. */
    private void compare(PromiseTable promises) throws Exception {
        Scenario.Options quick = options.inQuickForm();
        List<List<Case>> groups = groups(quick);
        withBackend((processes, backend) -> promises.showAll(
                "fixed limit of 1000",
                run(groups, startGateway(processes, backend, flat(groups), quick.without("adaptive-limit")))));
        for (PeerProxy peer : Scenario.installedPeers()) {
            withBackend((processes, backend) ->
                    promises.showAll(peer.label(), run(groups, startPeer(processes, backend, peer, flat(groups)))));
        }
    }

    private interface Measurement {
        void measure(Processes processes, ChangingBackend backend) throws Exception;
    }

    private static void withBackend(Measurement measurement) throws Exception {
        try (ChangingBackend backend = new ChangingBackend();
                Processes processes = Processes.unlimited()) {
            measurement.measure(processes, backend);
        }
    }

    private static List<List<Case>> groups(Scenario.Options options) {
        List<List<Case>> groups = new ArrayList<>(new ChangeCases(options).groups());
        groups.addAll(new EvidenceCases(options).groups());
        return groups;
    }

    private static List<Case> flat(List<List<Case>> groups) {
        return groups.stream().flatMap(List::stream).toList();
    }

    private static Traffic startGateway(
            Processes processes, ChangingBackend backend, List<Case> cases, Scenario.Options options) throws Exception {
        List<String> arguments = new ArrayList<>(
                List.of(configure(cases, backend.port(), processes.directory()).toString()));
        cases.forEach(one -> arguments.addAll(options.disable(one.name())));
        arguments.addAll(options.calm());
        RunningServer gateway = options.startGateway(processes, backend.port(), backend.port(), arguments);
        Traffic traffic = new Traffic(gateway.port(), backend, Optional.of(gateway));
        // The first calls of a cold JVM are slow.
        traffic.load('/' + cases.getFirst().routes().getFirst() + "/1")
                .unrecorded()
                .run(200, options.seconds(4, 10));
        return traffic;
    }

    /** Starts a peer with the deadlines of the cases, and without a limit or an ejection. */
    private Traffic startPeer(Processes processes, ChangingBackend backend, PeerProxy peer, List<Case> cases)
            throws Exception {
        boolean envoy = peer == PeerProxy.ENVOY;
        String line = envoy
                ? "{ match: { prefix: \"/%s/\" }, route: { cluster: backend, timeout: %s } },"
                : "http-request set-timeout server %2$s if { path_beg /%1$s/ }";
        String deadlines = cases.stream()
                .flatMap(one -> one.routes().stream().map(route -> line.formatted(route, text(one.deadline(), envoy))))
                .collect(Collectors.joining("\n    "));
        Map<String, ?> values = Map.of("BACKEND_PORT", backend.port(), "DEADLINES", deadlines);
        int port = options.startPeer(processes, peer, envoy ? "envoy-change.yaml" : "haproxy-change.cfg", values);
        return new Traffic(port, backend, Optional.empty());
    }

    /** Envoy knows seconds only, and HAProxy whole numbers. */
    private static String text(Duration deadline, boolean seconds) {
        long millis = deadline.toMillis();
        return seconds ? millis / 1000.0 + "s" : millis + "ms";
    }

    private static PromiseTable run(List<List<Case>> groups, Traffic traffic) throws Exception {
        PromiseTable promises = new PromiseTable();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (List<Case> group : groups) {
                List<Future<PromiseTable>> results = new ArrayList<>();
                for (Case one : group) {
                    results.add(threads.submit(() -> run(one, traffic)));
                }
                for (Future<PromiseTable> result : results) {
                    promises.addAll(result.get());
                }
            }
        }
        return promises;
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
            backends.append("    %s: { uri: \"http://127.0.0.1:%d\", deadline: %dms%s }%n"
                    .formatted(
                            one.name(),
                            port,
                            one.deadline().toMillis(),
                            one.properties().isEmpty() ? "" : ", " + one.properties()));
        }
        return Files.writeString(directory.resolve("change.yml"), routes.toString() + backends);
    }
}
