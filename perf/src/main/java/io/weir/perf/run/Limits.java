package io.weir.perf.run;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Which cores each process gets.
 *
 * <p>Where the host has enough, each process under test has its cores to itself, and so has the generator. Where it has more than one process is to have, but not
 * enough for all, the generator keeps some and the others share the rest, each limited to what was asked for: by a quota, or else by overlapping ranges of cores.
 * Where it has no more than one process is to have, all share all; where there are cgroups, those under test with equal weights, and the generator, which needs little, goes
 * before them: a late one would measure itself.
 *
 * @param asked cores for each process
 * @param granted cores that a process really has at most
 * @param host cores that there are for all
 * @param how what limits them
 * @param generatorsOwn whether the generator has cores to itself
 * @param processes the ranges of cores of the processes under test, one each
 * @param generator the generator's cores
 * @param quota whether each process is in a cgroup of its own with a quota of the granted cores
 */
record Limits(
        int asked,
        int granted,
        int host,
        How how,
        boolean generatorsOwn,
        List<List<Integer>> processes,
        List<Integer> generator,
        boolean quota) {

    /** What limits a process. */
    enum How {
        AFFINITY,
        QUOTA,
        NONE;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Divides the host.
     *
     * @param cores of the host, by number
     * @param asked cores for each process under test
     * @param processes how many are under test at a time
     * @param affinity whether processes can be bound to cores
     * @param cgroups whether processes can be put in cgroups
     */
    static Limits divide(List<Integer> cores, int asked, int processes, boolean affinity, boolean cgroups) {
        int host = cores.size();
        if (affinity && host > asked * processes) {
            List<List<Integer>> ranges = new ArrayList<>();
            for (int i = 0; i < processes; i++) {
                ranges.add(cores.subList(i * asked, (i + 1) * asked));
            }
            return new Limits(
                    asked,
                    asked,
                    host,
                    How.AFFINITY,
                    true,
                    List.copyOf(ranges),
                    cores.subList(asked * processes, host),
                    false);
        }
        if (affinity && host > asked) {
            int generators = Math.max(1, host / 4);
            List<Integer> shared = cores.subList(0, host - generators);
            int granted = Math.min(asked, shared.size());
            List<List<Integer>> ranges = new ArrayList<>();
            for (int i = 0; i < processes; i++) {
                ranges.add(cgroups ? shared : window(shared, i * shared.size() / processes, granted));
            }
            return new Limits(
                    asked,
                    granted,
                    host,
                    cgroups ? How.QUOTA : How.AFFINITY,
                    true,
                    List.copyOf(ranges),
                    cores.subList(host - generators, host),
                    cgroups);
        }
        List<List<Integer>> ranges = new ArrayList<>();
        for (int i = 0; i < processes; i++) {
            ranges.add(List.of());
        }
        return new Limits(
                asked,
                Math.min(asked, host),
                host,
                cgroups ? How.QUOTA : How.NONE,
                false,
                List.copyOf(ranges),
                List.of(),
                cgroups);
    }

    /** All for the generator: what is under test runs elsewhere. */
    static Limits ofGenerator(List<Integer> cores) {
        return new Limits(0, 0, cores.size(), How.NONE, true, List.of(), cores, false);
    }

    private static List<Integer> window(List<Integer> cores, int from, int length) {
        List<Integer> window = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            window.add(cores.get((from + i) % cores.size()));
        }
        return List.copyOf(window);
    }

    /** What that means for the figures. */
    String sentence() {
        if (processes.isEmpty()) {
            return String.format(
                    Locale.ROOT,
                    "The gateway and its backends ran elsewhere, with limits that are not known; the generator had the %s of this host. The way there is in all"
                            + " times.",
                    cores(host));
        }
        if (generatorsOwn && !quota && granted * processes.size() < host) {
            return String.format(
                    Locale.ROOT,
                    "Each process under test had %s of its own, and the generator the other %d of the host's %d.",
                    cores(granted),
                    generator.size(),
                    host);
        }
        if (generatorsOwn) {
            return String.format(
                    Locale.ROOT,
                    "The host has %d cores, too few for %d processes with %d each: limited to %d cores' worth each, they shared %d, and the generator had"
                            + " %d of its own. Times under load are theirs together.",
                    host,
                    processes.size(),
                    asked,
                    granted,
                    host - generator.size(),
                    generator.size());
        }
        return String.format(
                Locale.ROOT,
                "The host has %d cores, where %d were asked for each process: the %s under test and the generator shared them all%s. Times"
                        + " and throughput are those of all together; compare only within this run.",
                host,
                asked,
                processes.size() == 1 ? "process" : processes.size() + " processes",
                quota ? ", the generator before the others, and these with equal weights" : "");
    }

    private static String cores(int count) {
        return count == 1 ? "one core" : count + " cores";
    }
}
