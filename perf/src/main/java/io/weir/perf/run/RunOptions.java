package io.weir.perf.run;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The command line of {@code perf/run}.
 *
 * @param list only list the experiments
 * @param cpus cores per process under test; 0: the experiment's default
 * @param target a gateway that runs elsewhere
 */
public record RunOptions(
        List<Experiment> experiments, boolean list, boolean quick, int cpus, Optional<RemoteTarget> target) {

    /** Parses arguments; throws an {@link IllegalArgumentException} that names the wrong one. */
    static RunOptions parse(List<Experiment> known, String... args) {
        List<Experiment> experiments = new ArrayList<>();
        boolean list = false;
        boolean quick = true;
        int cpus = 0;
        Map<String, String> urls = new TreeMap<>();
        for (int i = 0; i < args.length; i++) {
            String arg = args[i];
            switch (arg) {
                case "--list" -> list = true;
                case "--quick" -> quick = true;
                case "--full" -> quick = false;
                case "--cpus" -> cpus = cpus(++i < args.length ? args[i] : "");
                case "--target", "--faults" -> {
                    if (++i == args.length) {
                        throw new IllegalArgumentException(arg + " (expected: a URL)");
                    }
                    urls.put(arg, args[i]);
                }
                default ->
                    experiments.add(known.stream()
                            .filter(one -> one.name().equals(arg))
                            .findFirst()
                            .orElseThrow(() -> new IllegalArgumentException(arg + expected(known))));
            }
        }
        if (experiments.isEmpty() && !list) {
            throw new IllegalArgumentException("no experiment" + expected(known));
        }
        if (urls.size() == 1) {
            throw new IllegalArgumentException(
                    urls.keySet().iterator().next() + " alone (expected: both --target URL and --faults URL)");
        }
        if (cpus > 0 && !urls.isEmpty()) {
            throw new IllegalArgumentException(
                    "--cpus with --target (expected: one of them; a gateway elsewhere is not limited)");
        }
        if (urls.isEmpty()) {
            return new RunOptions(experiments, list, quick, cpus, Optional.empty());
        }
        experiments.stream()
                .filter(one -> !one.underTest().remote())
                .findFirst()
                .ifPresent(one -> {
                    throw new IllegalArgumentException(one.name() + " does not support --target (expected: "
                            + names(known.stream()
                                    .filter(other -> other.underTest().remote())) + ")");
                });
        RemoteTarget target = RemoteTarget.parse(urls.getOrDefault("--target", ""), urls.getOrDefault("--faults", ""));
        return new RunOptions(experiments, list, quick, cpus, Optional.of(target));
    }

    private static int cpus(String text) {
        if (!text.matches("[1-9]\\d{0,3}")) {
            throw new IllegalArgumentException("--cpus " + text + " (expected: a number of cores, at least 1)");
        }
        return Integer.parseInt(text);
    }

    private static String expected(List<Experiment> known) {
        return " (expected: --list, or NAME... [--quick|--full] [--cpus N] [--target URL --faults URL], of "
                + names(known.stream()) + ")";
    }

    private static String names(Stream<Experiment> experiments) {
        return experiments.map(Experiment::name).collect(Collectors.joining(", "));
    }

    /** Checks that the ports in the environment are valid and free. */
    static void checkPorts(Map<String, String> environment) {
        for (String variable : List.of("GATEWAY_PORT", "MANAGEMENT_PORT")) {
            String port = environment.get(variable);
            if (port == null) {
                continue;
            }
            if (!port.matches("[1-9]\\d{0,4}") || Integer.parseInt(port) > 65_535) {
                throw new IllegalArgumentException(variable + ": " + port + " (expected: a port from 1 to 65535)");
            }
            try {
                new ServerSocket(Integer.parseInt(port)).close();
            } catch (IOException e) {
                throw new IllegalArgumentException(
                        "port " + port + " is in use: stop the process that listens there, or choose another "
                                + variable,
                        e);
            }
        }
    }

    String mode() {
        return quick ? "quick" : "full";
    }

    /** The name of an experiment's results: those of a remote gateway are separate. */
    String resultName(Experiment experiment) {
        return target.isPresent() ? experiment.name() + "-target" : experiment.name();
    }
}
