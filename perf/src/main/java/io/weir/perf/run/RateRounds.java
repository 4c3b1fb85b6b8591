package io.weir.perf.run;

import io.weir.perf.result.Requests;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The maximum rates of a server, round by round, by wrk, with the CPU time that they took. The rounds of
 * compared servers alternate: what slows the machine for a while slows them all, and the median of the ratios
 * within a round compares them.
 */
public final class RateRounds {

    /** A server that used less of its cores was not at its limit. */
    public static final double BUSY_PERCENT = 90;

    public static final int CONNECTIONS = 32;

    private final Processes processes;
    private final List<String> prefix;
    private final ManagedProcess server;
    private final String uri;
    private final boolean refused;
    private final String[] fields;
    private final List<Double> rates = new ArrayList<>();
    private Duration used = Duration.ZERO;
    private double seconds;
    private long requests;

    /**
     * No round yet.
     *
     * @param prefix of wrk's command
     * @param refused the server refuses these requests
     * @param fields header fields of the requests
     */
    public RateRounds(
            Processes processes,
            List<String> prefix,
            ManagedProcess server,
            String uri,
            boolean refused,
            String... fields) {
        this.processes = processes;
        this.prefix = prefix;
        this.server = server;
        this.uri = uri;
        this.refused = refused;
        this.fields = fields.clone();
    }

    /** A load that is not measured. */
    public Wrk warmUp(Duration time) throws InterruptedException {
        return Wrk.run(processes, prefix, CONNECTIONS, time, uri, fields);
    }

    /** A measured round; throws {@link Wrk.UnansweredException} without a result. */
    public Wrk measure(Duration time) throws InterruptedException {
        Duration before = server.cpuTime();
        Wrk result = warmUp(time);
        rates.add(result.perSecond());
        requests += result.requests();
        // Without the start and the end of wrk.
        seconds += result.requests() / result.perSecond();
        used = used.plus(server.cpuTime().minus(before));
        return result;
    }

    /** Whether all requests were refused, or none of them. */
    public boolean isExpected(Wrk result) {
        return result.requests() > 0 && result.refused() == (refused ? result.requests() : 0);
    }

    public String expected() {
        return refused ? "all refused" : "none refused";
    }

    public List<Double> rates() {
        return List.copyOf(rates);
    }

    public double busyPercent(int cores) {
        return busyPercent(used, seconds, cores);
    }

    static double busyPercent(Duration used, double seconds, int cores) {
        return 100 * used.toNanos() / 1e9 / seconds / cores;
    }

    public double cpuMicrosPerRequest() {
        return used.toNanos() / 1000.0 / requests;
    }

    /** The median of the ratios within a round. */
    public double ratio(RateRounds other) {
        return ratio(rates, other.rates);
    }

    /** The median of the ratios of equal places. */
    public static double ratio(List<Double> first, List<Double> second) {
        return Requests.median(IntStream.range(0, first.size())
                .mapToObj(round -> first.get(round) / second.get(round))
                .toList());
    }
}
