package io.weir.perf.run;

import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The cores of each process.
 *
 * <ul>
 *   <li>The host has enough cores: each process under test and the generator have their own.
 *   <li>The host has more cores than one process is to have, but not enough for all: the generator keeps
 *       some. The processes under test share the rest; a quota limits each, or, without cgroups, overlapping
 *       ranges of cores.
 *   <li>The host has no more cores than one process is to have: all processes share all cores. With cgroups,
 *       those under test have equal weights, and the generator has priority, because a late generator
 *       measures itself.
 * </ul>
 *
 * @param asked requested cores per process
 * @param granted the maximum of cores per process
 * @param host all cores
 * @param processes the cores of each process under test; an empty list: all
 * @param generator the cores that only the generator uses; an empty list: it shares all cores
 * @param quota whether each process has a cgroup with a quota of the granted cores
 */
record CpuAllocation(
        int asked, int granted, int host, List<List<Integer>> processes, List<Integer> generator, boolean quota) {

    enum Method {
        AFFINITY,
        QUOTA,
        NONE
    }

    /** Divides the cores of the host among processes under test, each with the asked number. */
    static CpuAllocation divide(List<Integer> cores, int asked, int processes, boolean affinity, boolean cgroups) {
        int host = cores.size();
        if (affinity && host > asked * processes) {
            List<List<Integer>> own = IntStream.range(0, processes)
                    .mapToObj(i -> cores.subList(i * asked, (i + 1) * asked))
                    .toList();
            List<Integer> rest = cores.subList(asked * processes, host);
            return new CpuAllocation(asked, asked, host, own, rest, false);
        }
        if (affinity && host > asked) {
            int generators = Math.max(1, host / 4);
            List<Integer> rest = cores.subList(0, host - generators);
            int granted = Math.min(asked, rest.size());
            List<List<Integer>> ranges = IntStream.range(0, processes)
                    .mapToObj(i -> cgroups ? rest : window(rest, i * rest.size() / processes, granted))
                    .toList();
            List<Integer> generator = cores.subList(host - generators, host);
            return new CpuAllocation(asked, granted, host, ranges, generator, cgroups);
        }
        List<List<Integer>> all = Collections.nCopies(processes, List.of());
        return new CpuAllocation(asked, Math.min(asked, host), host, all, List.of(), cgroups);
    }

    /** All cores for the generator: the processes under test run elsewhere. */
    static CpuAllocation generatorOnly(List<Integer> cores) {
        return new CpuAllocation(0, 0, cores.size(), List.of(), cores, false);
    }

    private static List<Integer> window(List<Integer> cores, int from, int length) {
        return IntStream.range(from, from + length)
                .mapToObj(i -> cores.get(i % cores.size()))
                .toList();
    }

    Method method() {
        boolean bound = processes.stream().anyMatch(cores -> !cores.isEmpty());
        return quota ? Method.QUOTA : bound ? Method.AFFINITY : Method.NONE;
    }

    boolean generatorHasOwnCores() {
        return !generator.isEmpty();
    }

    int generatorCores() {
        return generatorHasOwnCores() ? generator.size() : host;
    }

    /** States the effect of the allocation on the figures. */
    String sentence() {
        if (processes.isEmpty()) {
            return "The gateway and its backends ran elsewhere with unknown limits; the generator had the "
                    + cores(host) + " of this host. All times include the network in between.";
        }
        if (generatorHasOwnCores() && !quota && granted * processes.size() < host) {
            return "Each process under test had %s of its own, and the generator the other %d of the host's %d."
                    .formatted(cores(granted), generator.size(), host);
        }
        if (generatorHasOwnCores()) {
            return ("The host has %d cores, too few for %d processes with %d each: limited to %d cores' worth each, they"
                            + " shared %d, and the generator had %d of its own. Times under load depend on all of them.")
                    .formatted(host, processes.size(), asked, granted, host - generator.size(), generator.size());
        }
        String tested = processes.size() == 1 ? "process" : processes.size() + " processes";
        return "The host has " + host + " cores, where " + asked + " were asked for each process: the " + tested
                + " under test and the generator shared them all"
                + (quota ? ", the generator with priority, the others with equal weights" : "")
                + ". Times and throughput depend on all of them; compare only within this run.";
    }

    private static String cores(int count) {
        return count == 1 ? "one core" : count + " cores";
    }
}
