package io.weir.perf.run;

import io.weir.perf.result.ResultWriter;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

final class RunEnvironment {

    private static final String GATEWAY = "gateway/target/weir-gateway.jar";

    private static final Pattern GATLING = Pattern.compile("gatling-core-(\\d.*)\\.jar$");

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
        results.property("question", experiment.question());
        results.property("mode", options.mode());
        results.property("command", System.getProperty("weir.command", "perf/run " + experiment.name()));
        results.property("began", Instant.ofEpochMilli(results.beganEpochMillis()));
        results.property("java", System.getProperty("java.vendor.version", "") + " " + Runtime.version());
        options.target().ifPresentOrElse(target -> results.property("gateway.url", target.gateway()), () -> {
            results.property("gateway.version", version(root.resolve(GATEWAY)));
            String commit = Host.firstLine(root, "git", "describe", "--always", "--dirty");
            results.property("gateway.commit", System.getProperty("weir.commit", commit));
        });
        results.property("gatling", gatlingVersion(root));
        results.property("host", host());
        results.property("cpus.asked", allocation.asked());
        results.property("cpus.granted", allocation.granted());
        results.property("cpus.host", allocation.host());
        results.property("limit.how", allocation.method().name().toLowerCase(Locale.ROOT));
        results.property("limit.sentence", allocation.sentence());
        results.property("generator.own-cores", allocation.generatorHasOwnCores());
    }

    /** The version that Maven wrote into the jar. */
    private static String version(Path jar) {
        Properties maven = new Properties();
        try (FileSystem content = FileSystems.newFileSystem(jar);
                Reader pom = Files.newBufferedReader(
                        content.getPath("META-INF/maven/io.weir/weir-gateway/pom.properties"))) {
            maven.load(pom);
        } catch (IOException e) {
            // Unknown.
        }
        return maven.getProperty("version", "unknown");
    }

    private static String gatlingVersion(Path root) {
        try (Stream<Path> jars = Files.list(root.resolve("perf/simulations/target/lib"))) {
            return jars.map(jar -> GATLING.matcher(jar.toString()))
                    .filter(Matcher::find)
                    .map(jar -> jar.group(1))
                    .findFirst()
                    .orElse("unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }

    /** Processor, memory and kernel. */
    private static String host() {
        String model = Host.field(Path.of("/proc/cpuinfo"), "model name", "unknown processor");
        String kilobytes = Host.field(Path.of("/proc/meminfo"), "MemTotal", "0").replaceAll("\\D", "");
        return model + ", " + Math.round(Long.parseLong(kilobytes) / 1024.0 / 1024) + " GiB, "
                + System.getProperty("os.name", "") + " " + System.getProperty("os.version", "");
    }
}
