package io.weir.perf.experiment;

import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import io.weir.perf.run.HttpControl;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.PeerProxy.Places;
import io.weir.perf.run.Processes.Role;
import io.weir.perf.run.RunFailure;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A program that {@code perf/run start} starts: a peer, and the way of its start.
 *
 * @param label the name in the results
 * @param command the command of its process, at given places
 */
record StartProgram(String label, PeerProxy peer, Function<Places, List<String>> command) {

    private static final String WEIR_MAIN = "io.weir.WeirApplication";
    private static final String PEER_MAIN = "io.weir.perf.PeerMain";
    private static final Duration EXTRACTION = Duration.ofMinutes(2);
    private static final int TRAINING_TIMEOUT_SECONDS = 600;
    private static final int TRAINING_RATE = 500;

    /** The peer as in {@code perf/run peers}: a program on a JVM from its jar of jars. */
    static StartProgram ofPeer(String label, PeerProxy peer, ExperimentContext context) {
        return new StartProgram(label, peer, places -> peer.command(context, places));
    }

    /** Weir from the extracted jar, with another configuration than that of {@code perf/peers}. */
    static StartProgram ofConfiguration(
            String label, StartConfiguration configuration, Path jar, ExperimentContext context) {
        return new StartProgram(label, PeerProxy.WEIR, places -> {
            Path file = configuration.write(places, context.processes().directory());
            return withOpenFiles(
                    Stream.of(context.java("1g"), List.of("-cp", jar.toString(), WEIR_MAIN, file.toString())));
        });
    }

    /** Weir with an AOT cache. It is trained as a release is. */
    static StartProgram weirWithCache(Path jar, boolean quick, ExperimentContext context) throws InterruptedException {
        List<String> main = List.of("-cp", jar.toString(), WEIR_MAIN);
        String script = context.file("ops/images/gateway/train").toString();
        List<String> train = new ArrayList<>(
                List.of("bash", script, cache(PeerProxy.WEIR, context).toString()));
        train.addAll(List.of(quick ? "20" : "100", Integer.toString(TRAINING_TIMEOUT_SECONDS)));
        train.addAll(javaWithCache(context));
        train.addAll(main);
        Map<String, String> ports = Map.of("EDGE_PORT", "" + Host.freePort(), "MANAGEMENT_PORT", "" + Host.freePort());
        ManagedProcess training = context.processes().start(Role.GENERATOR, "weir-training", train, ports);
        context.progress("weir is trained");
        return trained(PeerProxy.WEIR, main, training, context);
    }

    /** The plain gateway with an AOT cache. It is trained by requests to its routes. */
    static StartProgram plainWithCache(Path jar, int served, boolean quick, ExperimentContext context)
            throws InterruptedException {
        PeerProxy plain = PeerProxy.PLAIN_GATEWAY;
        List<String> main = List.of("-cp", jar.toString(), PEER_MAIN, "plain");
        Places places = new Places(
                Host.freePort(), Host.freePort(), served, served, served, context.cores(), PeerProxy.OPEN_FILES);
        List<String> train =
                command(plain, List.of("-XX:AOTCacheOutput=" + cache(plain, context)), main, places, context);
        ManagedProcess training = context.processes().start(Role.GENERATOR, "plain-gateway-training", train, Map.of());
        context.progress("plain-gateway is trained");
        context.processes().await("plain-gateway answers", () -> HttpControl.answers(places.url("/served/1")));
        var unused = StartMeasurement.load(places).run(TRAINING_RATE, Duration.ofSeconds(quick ? 15 : 60));
        training.mayEnd();
        ProcessHandle.of(training.pid()).ifPresent(ProcessHandle::destroy);
        return trained(plain, main, training, context);
    }

    private static Path cache(PeerProxy peer, ExperimentContext context) {
        return context.processes().directory().resolve(peer.label() + ".aot");
    }

    /** The command of a peer's main class, with its usual configuration. */
    private static List<String> command(
            PeerProxy peer, List<String> options, List<String> main, Places places, ExperimentContext context) {
        String file = peer.writeConfiguration(context, places).toString();
        List<String> argument = List.of(peer == PeerProxy.WEIR ? file : "--spring.config.location=" + file);
        return withOpenFiles(Stream.of(javaWithCache(context), options, main, argument));
    }

    /** The program with the cache that its training has made; returns when the training has ended. */
    private static StartProgram trained(
            PeerProxy peer, List<String> main, ManagedProcess training, ExperimentContext context)
            throws InterruptedException {
        Path cache = cache(peer, context);
        int status = training.awaitExit();
        if (!Files.exists(cache)) {
            throw new RunFailure(training.name() + " has made no AOT cache; it ended with status " + status);
        }
        List<String> options = List.of("-XX:AOTMode=on", "-XX:AOTCache=" + cache);
        return new StartProgram(peer.label(), peer, places -> command(peer, options, main, places, context));
    }

    /** Extracts a jar of jars; returns the jar with the class path of the others. */
    static Path extract(String jar, ExperimentContext context) throws InterruptedException {
        Path from = context.file(jar);
        String file = String.valueOf(from.getFileName());
        Path to = context.processes().directory().resolve(file.replace(".jar", ""));
        var unused = context.processes()
                .run(
                        Role.GENERATOR,
                        "extraction-" + file,
                        List.of(
                                Host.java(),
                                "-Djarmode=tools",
                                "-jar",
                                from.toString(),
                                "extract",
                                "--destination",
                                to.toString()),
                        EXTRACTION);
        return to.resolve(file);
    }

    /** Whether the program is ready: by its readiness probe, or, without one, by an answer of a backend. */
    boolean isReady(Places places) {
        return HttpControl.answers(
                peer == PeerProxy.WEIR
                        ? "http://127.0.0.1:" + places.managementPort() + "/actuator/health/readiness"
                        : places.url("/served/1"));
    }

    /** The options of a release, for both, with the collector that Java chooses on one core. */
    private static List<String> javaWithCache(ExperimentContext context) {
        // G1 of a release would cost both of them the same.
        String options = "@" + context.file("ops/release/java.options");
        return Stream.concat(context.java("1g").stream(), Stream.of(options, "-XX:-UseG1GC", "-XX:+UseSerialGC"))
                .toList();
    }

    private static List<String> withOpenFiles(Stream<List<String>> words) {
        return Host.withOpenFiles(
                PeerProxy.OPEN_FILES, words.flatMap(List::stream).toList());
    }
}
