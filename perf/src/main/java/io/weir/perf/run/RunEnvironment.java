package io.weir.perf.run;

import io.weir.perf.result.Claim;
import io.weir.perf.result.ResultWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.jar.JarFile;

final class RunEnvironment {

    private static final String GATEWAY = "gateway/target/weir-gateway.jar";

    private static final String LIBRARIES = "perf/simulations/target/lib";
    private static final String GATLING = "gatling-core-";

    private RunEnvironment() {}

    static void checkJars(Path root) {
        for (String jar : List.of(
                GATEWAY,
                "backends-sim/target/weir-backends-sim.jar",
                "perf/simulations/target/weir-perf-simulations.jar",
                "perf/thread-front/target/weir-perf-thread-front.jar")) {
            if (!Files.exists(root.resolve(jar))) {
                throw new RunFailure(jar + " is missing: mvn package -DskipTests");
            }
        }
    }

    static void describe(
            ResultWriter results, Experiment experiment, RunOptions options, CpuAllocation allocation, Path root) {
        results.property("experiment", options.resultName(experiment));
        Claim.shipped(options.resultName(experiment)).forEach(results::add);
        results.property("question", experiment.measures().question());
        results.property("mode", options.mode());
        results.property("command", System.getProperty("weir.command", "perf/run " + experiment.name()));
        results.property("began", Instant.ofEpochMilli(results.beganEpochMillis()));
        results.property("java", System.getProperty("java.vendor.version", "") + " " + Runtime.version());
        options.target().ifPresent(target -> results.property("gateway.url", target.gateway()));
        options.chaos().ifPresent(target -> results.property("gateway.url", target.gateway()));
        if (!options.isRemote()) {
            results.property("gateway.version", version(root.resolve(GATEWAY)));
            results.property("gateway.commit", MeasuredTables.commit(root));
        }
        results.property("gatling", gatlingVersion(root));
        results.property("host", Host.description());
        results.property("cpus.asked", allocation.asked());
        results.property("cpus.granted", allocation.granted());
        results.property("cpus.host", allocation.host());
        results.property("limit.how", allocation.method().name().toLowerCase(Locale.ROOT));
        results.property("limit.sentence", allocation.sentence());
        results.property("generator.own-cores", allocation.generatorHasOwnCores());
    }

    private static String version(Path jar) {
        try (JarFile content = new JarFile(jar.toFile())) {
            return String.valueOf(content.getManifest().getMainAttributes().getValue("Implementation-Version"));
        } catch (IOException e) {
            return "unknown";
        }
    }

    private static String gatlingVersion(Path root) {
        try (var jars = Files.newDirectoryStream(root.resolve(LIBRARIES), GATLING + "[0-9]*.jar")) {
            String name = jars.iterator().next().getFileName().toString();
            return name.substring(GATLING.length(), name.length() - ".jar".length());
        } catch (IOException | NoSuchElementException e) {
            return "unknown";
        }
    }
}
