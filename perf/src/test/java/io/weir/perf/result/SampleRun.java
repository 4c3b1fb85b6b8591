package io.weir.perf.result;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** Raw files with known figures. */
public final class SampleRun {

    private final Path directory;

    private SampleRun(Path directory) {
        this.directory = directory;
    }

    static SampleRun in(Path directory) throws IOException {
        Files.createDirectories(directory);
        return new SampleRun(directory)
                .with(
                        "run.properties",
                        "experiment=made-up",
                        "mode=quick",
                        "question=Is this <made up>?",
                        "command=perf/run made-up",
                        "cpus.asked=4",
                        "cpus.granted=2",
                        "limit.sentence=Made up: no process had any limit.");
    }

    /**
     * A hundred requests that take 10, 20, … 1000 ms, one every 20 ms; then a hundred of 50 ms, of which
     * every fifth is refused by a full bulkhead. A process uses half a core.
     */
    public static SampleRun overTime(Path directory) throws IOException {
        StringBuilder requests = new StringBuilder("step,at_ms,micros,request,outcome\r\n");
        for (int i = 1; i <= 100; i++) {
            requests.append(String.format(Locale.ROOT, "1,%d,%d,GET orders,success\r\n", 20 * i, 10_000 * i));
        }
        for (int i = 1; i <= 100; i++) {
            requests.append(String.format(
                    Locale.ROOT,
                    i % 5 == 0 ? "2,%d,200,GET orders,bulkhead-full\r\n" : "2,%d,50000,GET orders,success\r\n",
                    2000 + 20 * i));
        }
        return in(directory)
                .with("steps.csv", "step,label,x,began_ms,ended_ms", "1,calm,,0,2000", "2,fault,,2000,4000")
                .with("requests.csv", requests.toString())
                .with(
                        "processes.csv",
                        "step,at_ms,process,cpu_micros,rss_bytes,threads,connections",
                        "1,0,gateway,1000000,200000000,30,4",
                        "1,1000,gateway,1500000,210000000,31,9",
                        "2,2000,gateway,2000000,220000000,32,8",
                        "2,4000,gateway,3000000,215000000,30,7")
                .with(
                        "meters.csv",
                        "step,at_ms,meter,labels,value",
                        "1,0,weir_breaker_state,\"backend=\"\"orders\"\",state=\"\"closed\"\"\",1",
                        "2,2500,weir_breaker_state,\"backend=\"\"orders\"\",state=\"\"open\"\"\",1",
                        "2,3500,weir_breaker_state,\"backend=\"\"orders\"\",state=\"\"half-open\"\"\",1",
                        "1,0,weir_permits_used,\"backend=\"\"orders\"\"\",3",
                        "2,2500,weir_permits_used,\"backend=\"\"orders\"\"\",10")
                .with("spans.csv", "step,label,from_ms,to_ms", "2,hang,2200,3200")
                .with("facts.csv", "name,value,unit", "recovery,0.25,s")
                .with(
                        "assertions.csv",
                        "run,assertion,holds,actual",
                        "load,nothing is refused,false,20",
                        "load,\"a, b\",true,1");
    }

    /** The steps, the facts and the assertions of {@link #overTime}: no raw data, so no plots. */
    public static SampleRun withoutRequests(Path directory) throws IOException {
        return overTime(directory)
                .with("requests.csv", "step,at_ms,micros,request,outcome")
                .without("processes.csv", "meters.csv");
    }

    /** {@link #overTime} as a run that meets the checklist, with a claim that was recorded when it began. */
    public static SampleRun reviewed(Path directory, String... claim) throws IOException {
        return overTime(directory)
                .append("run.properties", "load.model=open", "warm-up.seconds=20.0", "cpus.host=4")
                .append("processes.csv", "1,0,gatling-load,0,1,1,1", "1,1000,gatling-load,300000,1,1,1")
                .append("facts.csv", "generator.load.delay.p99,4,ms", "generator.load.busy,30,%")
                .with(
                        "claims.csv",
                        "experiment,name,claimed,unit,tolerance,source",
                        "made-up," + String.join(",", claim) + ",a book");
    }

    /** Two series of three steps each. */
    public static SampleRun overX(Path directory) throws IOException {
        StringBuilder steps = new StringBuilder("step,label,x,began_ms,ended_ms\r\n");
        StringBuilder requests = new StringBuilder("step,at_ms,micros,request,outcome\r\n");
        int at = 0;
        int step = 0;
        for (String label : List.of("blocking", "reactive")) {
            for (int x : new int[] {4, 64, 500}) {
                step++;
                steps.append(String.format(Locale.ROOT, "%d,%s,%d,%d,%d\r\n", step, label, x, at, at + 1000));
                for (int i = 1; i <= x; i++) {
                    requests.append(String.format(
                            Locale.ROOT,
                            "%d,%d,%d,GET records,success\r\n",
                            step,
                            at + 1000 * i / x,
                            (label.equals("blocking") ? 100 : 50) * x));
                }
                at += 1000;
            }
        }
        return in(directory).with("steps.csv", steps.toString()).with("requests.csv", requests.toString());
    }

    public SampleRun with(String file, String... lines) {
        try {
            Files.writeString(directory.resolve(file), String.join("\r\n", lines));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    /** Deletes files. */
    public SampleRun without(String... files) throws IOException {
        for (String file : files) {
            Files.delete(directory.resolve(file));
        }
        return this;
    }

    /** Adds lines to a file without a line end. */
    public SampleRun append(String file, String... lines) {
        try {
            return with(file, Files.readString(directory.resolve(file)).strip(), String.join("\r\n", lines));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public Path directory() {
        return directory;
    }

    public RunResult read() {
        return RunResult.read(directory);
    }
}
