package io.weir.perf.run;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The command line of {@code perf/run}. The launcher checks its form before the build; the checks here need
 * the experiments or the network.
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
        Map<String, String> urls = new HashMap<>();
        Iterator<String> rest = List.of(args).iterator();
        while (rest.hasNext()) {
            String arg = rest.next();
            switch (arg) {
                case "--list" -> list = true;
                case "--quick", "--full" -> quick = arg.equals("--quick");
                case "--cpus" -> cpus = Integer.parseInt(rest.next());
                case "--target", "--faults" -> urls.put(arg, rest.next());
                default ->
                    experiments.add(known.stream()
                            .filter(one -> one.name().equals(arg))
                            .findFirst()
                            .orElseThrow(() -> new IllegalArgumentException(arg + " (expected: an experiment)")));
            }
        }
        Optional<RemoteTarget> target = Optional.ofNullable(urls.get("--target"))
                .map(url -> RemoteTarget.parse(url, urls.getOrDefault("--faults", "")));
        List<String> remote = known.stream()
                .filter(one -> one.measures().remote())
                .map(Experiment::name)
                .toList();
        for (Experiment one : experiments) {
            if (target.isPresent() && !remote.contains(one.name())) {
                throw new IllegalArgumentException(
                        one.name() + " does not support --target (expected: " + String.join(", ", remote) + ")");
            }
        }
        return new RunOptions(experiments, list, quick, cpus, target);
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

    boolean isRemote() {
        return target.isPresent();
    }

    String mode() {
        return quick ? "quick" : "full";
    }

    /** The name of an experiment's results: those of a remote gateway are separate. */
    String resultName(Experiment experiment) {
        return isRemote() ? experiment.name() + "-target" : experiment.name();
    }
}
