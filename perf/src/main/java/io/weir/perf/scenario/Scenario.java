package io.weir.perf.scenario;

import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Runs a scenario by its name: {@code NAME JAR CONFIGURATION [--quick] [--without PROTECTION]...}. */
public final class Scenario {

    /** What can be switched off, and how. */
    static final Map<String, List<String>> PROTECTIONS = new TreeMap<>(Map.of(
            "circuit-breaker", List.of("circuit-breaker.enforce=false"),
            "bulkhead", List.of("bulkhead.enforce=false"),
            "deadline", List.of("deadline-enforce=false")));

    private static final Set<String> NAMES = Set.of("hang", "overload", "faults");

    /** Nearly as long as a call may take. */
    private static final Duration STANDSTILL = Duration.ofMillis(250);

    private static final int TRIES = 3;

    /**
     * How it is run.
     *
     * @param jar the gateway's
     * @param configuration its file
     * @param quick with shorter phases, and without what depends on time; once more if the machine stood still
     * @param without protections that are switched off
     */
    record Options(Path jar, Path configuration, boolean quick, List<String> without) {

        /** The gateway's properties that switch off what is to be off for a backend. */
        List<String> off(String backend) {
            return without.stream()
                    .flatMap(protection -> PROTECTIONS.getOrDefault(protection, List.of()).stream())
                    .map(property -> "--weir.backends." + backend + '.' + property)
                    .toList();
        }
    }

    private Scenario() {}

    /** The exit code is 0 if all that was promised holds, 1 if not, 2 if the arguments are wrong. */
    public static void main(String[] args) throws Exception {
        System.exit(run(System.out, args));
    }

    /** The exit code; the table goes to {@code out}. */
    static int run(PrintStream out, String... args) throws Exception {
        if (args.length < 3 || !NAMES.contains(args[0])) {
            return fail(args.length == 0 || args[0].isEmpty() ? "no scenario" : args[0]);
        }
        boolean quick = false;
        List<String> without = new ArrayList<>();
        for (int i = 3; i < args.length; i++) {
            if (args[i].equals("--quick")) {
                quick = true;
            } else if (args[i].equals("--without") && i + 1 < args.length && PROTECTIONS.containsKey(args[i + 1])) {
                without.add(args[++i]);
            } else {
                return fail(String.join(" ", List.of(args).subList(i, args.length)));
            }
        }
        Options options = new Options(Path.of(args[1]), Path.of(args[2]), quick, without);
        Promises promises = quick ? untilItGoesOn(args[0], options) : run(args[0], options);
        out.print(promises.table());
        return promises.hold() ? 0 : 1;
    }

    private static Promises run(String name, Options options) throws Exception {
        return switch (name) {
            case "hang" -> new Hang(options).run();
            case "overload" -> new Overload(options).run();
            default -> new Faults(options).run();
        };
    }

    /** Again while the machine stands still in it: such a run has shown nothing. */
    private static Promises untilItGoesOn(String name, Options options) throws Exception {
        for (int tries = 1; ; tries++) {
            try (Standstill standstill = Standstill.watch()) {
                Promises promises = run(name, options);
                Duration stood = standstill.longest();
                if (stood.compareTo(STANDSTILL) < 0 || tries == TRIES) {
                    return promises;
                }
                System.out.printf(Locale.ROOT, "the machine stood still for %d ms: once more%n", stood.toMillis());
            }
        }
    }

    private static int fail(String what) {
        System.err.printf(
                Locale.ROOT,
                "perf/scenario: %s (expected: hang|overload|faults [--quick] [--without %s]...)%n",
                what,
                String.join("|", PROTECTIONS.keySet()));
        return 2;
    }
}
