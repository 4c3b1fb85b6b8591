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
 * @param target a gateway that runs elsewhere, with simulators behind it
 * @param chaos a gateway that runs elsewhere and injects faults by itself; only for {@code chaos}
 */
public record RunOptions(
        List<Experiment> experiments,
        boolean list,
        boolean quick,
        int cpus,
        Optional<RemoteTarget> target,
        Optional<ChaosTarget> chaos) {

    private static final String CHAOS = "chaos";

    public RunOptions(
            List<Experiment> experiments, boolean list, boolean quick, int cpus, Optional<RemoteTarget> target) {
        this(experiments, list, quick, cpus, target, Optional.empty());
    }

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
                default -> {
                    if (ChaosOptions.NAMES.contains(arg)) {
                        urls.put(arg, rest.next());
                        continue;
                    }
                    experiments.add(known.stream()
                            .filter(one -> one.name().equals(arg))
                            .findFirst()
                            .orElseThrow(() -> new IllegalArgumentException(arg + " (expected: an experiment)")));
                }
            }
        }
        if (experiments.stream().anyMatch(one -> one.name().equals(CHAOS))) {
            return chaos(experiments, quick, urls);
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

    private static RunOptions chaos(List<Experiment> experiments, boolean quick, Map<String, String> given) {
        if (experiments.size() > 1) {
            throw new IllegalArgumentException("chaos with other experiments (expected: chaos alone)");
        }
        ChaosTarget target = ChaosTarget.of(
                given.getOrDefault("--target", ""),
                given.getOrDefault("--management", ""),
                System.getenv().getOrDefault(ChaosTarget.TOKEN, ""),
                ChaosOptions.parse(given));
        return new RunOptions(experiments, false, quick, 0, Optional.empty(), Optional.of(target));
    }

    public static RunOptions chaos(String gateway, String management, String token, ChaosOptions options) {
        ChaosTarget target = ChaosTarget.of(gateway, management, token, options);
        return new RunOptions(List.of(), false, true, 0, Optional.empty(), Optional.of(target));
    }

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
        return target.isPresent() || chaos.isPresent();
    }

    String mode() {
        return quick ? "quick" : "full";
    }

    /** The name of an experiment's results: those of a remote gateway are separate. */
    String resultName(Experiment experiment) {
        return target.isPresent() ? experiment.name() + "-target" : experiment.name();
    }
}
