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
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A program that {@code perf/run start} starts: a peer, and the way of its start.
 *
 * @param label the name in the results
 * @param command the command of its process, at given places
 */
record StartProgram(String label, PeerProxy peer, Command command) {

    private static final String WEIR_MAIN = "io.weir.WeirApplication";
    private static final String PEER_MAIN = "io.weir.perf.PeerMain";
    private static final Duration EXTRACTION = Duration.ofMinutes(2);
    private static final int TRAINING_TIMEOUT_SECONDS = 600;
    private static final int TRAINING_RATE = 500;

    /** The command of a process. */
    @FunctionalInterface
    interface Command {
        List<String> at(Places places);
    }

    /** The peer as in {@code perf/run peers}: a program on a JVM from its jar of jars. */
    static StartProgram ofPeer(String label, PeerProxy peer, ExperimentContext context) {
        return new StartProgram(label, peer, places -> peer.command(context, places));
    }

    /** Weir from the extracted jar, with another configuration than that of {@code perf/peers}. */
    static StartProgram ofConfiguration(
            String label, StartConfiguration configuration, Path jar, ExperimentContext context) {
        return new StartProgram(
                label,
                PeerProxy.WEIR,
                places -> withOpenFiles(Stream.of(
                        context.java("1g"),
                        List.of("-cp", jar.toString(), WEIR_MAIN),
                        List.of(configuration
                                .write(places, context.processes().directory())
                                .toString()))));
    }

    /** Weir with an AOT cache. It is trained as a release is. */
    static StartProgram weirWithCache(Path jar, boolean quick, ExperimentContext context) throws InterruptedException {
        Path cache = context.processes().directory().resolve("weir.aot");
        List<String> java = javaWithCache(context);
        List<String> main = List.of("-cp", jar.toString(), WEIR_MAIN);
        List<String> train = Stream.of(
                        List.of("bash", context.file("ops/images/gateway/train").toString(), cache.toString()),
                        List.of(quick ? "20" : "100", Integer.toString(TRAINING_TIMEOUT_SECONDS)),
                        java,
                        main)
                .flatMap(List::stream)
                .toList();
        ManagedProcess training = context.processes()
                .start(
                        Role.GENERATOR,
                        "weir-training",
                        train,
                        Map.of("EDGE_PORT", "" + Host.freePort(), "MANAGEMENT_PORT", "" + Host.freePort()));
        context.progress("weir is trained");
        awaitCache(training, cache);
        return new StartProgram(
                "weir",
                PeerProxy.WEIR,
                places -> withOpenFiles(Stream.of(
                        java,
                        List.of("-XX:AOTMode=on", "-XX:AOTCache=" + cache),
                        main,
                        List.of(configuration(PeerProxy.WEIR, places, context)))));
    }

    /** The plain gateway with an AOT cache. It is trained by requests to its routes. */
    static StartProgram plainWithCache(Path jar, int served, boolean quick, ExperimentContext context)
            throws InterruptedException {
        Path cache = context.processes().directory().resolve("plain-gateway.aot");
        List<String> java = javaWithCache(context);
        List<String> main = List.of("-cp", jar.toString(), PEER_MAIN, "plain");
        Places places = new Places(
                Host.freePort(), Host.freePort(), served, served, served, context.cores(), PeerProxy.OPEN_FILES);
        ManagedProcess training = context.processes()
                .start(
                        Role.GENERATOR,
                        "plain-gateway-training",
                        withOpenFiles(Stream.of(
                                java,
                                List.of("-XX:AOTCacheOutput=" + cache),
                                main,
                                List.of(location(places, context)))),
                        Map.of());
        context.progress("plain-gateway is trained");
        context.processes().await("plain-gateway answers", () -> HttpControl.answers(places.url("/served/1")));
        var unused = StartMeasurement.load(places).run(TRAINING_RATE, Duration.ofSeconds(quick ? 15 : 60));
        training.mayEnd();
        ProcessHandle.of(training.pid()).ifPresent(ProcessHandle::destroy);
        awaitCache(training, cache);
        return new StartProgram(
                "plain-gateway",
                PeerProxy.PLAIN_GATEWAY,
                at -> withOpenFiles(Stream.of(
                        java,
                        List.of("-XX:AOTMode=on", "-XX:AOTCache=" + cache),
                        main,
                        List.of(location(at, context)))));
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
        return Stream.concat(
                        context.java("1g").stream(),
                        // G1 of a release would cost both of them the same.
                        Stream.of("@" + context.file("ops/release/java.options"), "-XX:-UseG1GC", "-XX:+UseSerialGC"))
                .toList();
    }

    private static String location(Places places, ExperimentContext context) {
        return "--spring.config.location=" + configuration(PeerProxy.PLAIN_GATEWAY, places, context);
    }

    private static String configuration(PeerProxy peer, Places places, ExperimentContext context) {
        return peer.writeConfiguration(context, places).toString();
    }

    private static List<String> withOpenFiles(Stream<List<String>> words) {
        return Host.withOpenFiles(
                PeerProxy.OPEN_FILES, words.flatMap(List::stream).toList());
    }

    private static void awaitCache(ManagedProcess training, Path cache) throws InterruptedException {
        int status = training.awaitExit();
        if (!Files.exists(cache)) {
            throw new RunFailure(training.name() + " has made no AOT cache; it ended with status " + status);
        }
    }
}
