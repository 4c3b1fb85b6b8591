package io.weir.perf.run;

import io.weir.perf.result.Request;
import io.weir.perf.result.ResultWriter;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.Assertion;
import io.weir.perf.result.RunResult.Fact;
import io.weir.perf.result.RunResult.MeterSample;
import io.weir.perf.result.RunResult.ProcessSample;
import io.weir.perf.result.RunResult.ShadedSpan;
import io.weir.perf.result.RunResult.Step;
import io.weir.perf.run.Processes.Role;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * The tools of a running experiment: processes, loads, steps and results.
 *
 * <p>Concurrency: one thread runs the experiment. A shutdown hook may call {@link #abort} at any time.
 */
public final class ExperimentContext implements AutoCloseable {

    private static final Duration ABORT_TIMEOUT = Duration.ofSeconds(10);

    private static final String OWN_LOAD = "load";

    private static final Step NO_STEP = new Step("0", "", "", 0, 0, "");

    final RunOptions options;
    final ResultWriter results;
    final RunValidity validity;
    final Sampler sampler;
    private final Path root;
    private final List<String> jvmOptions;
    private final CpuAllocation allocation;
    private final Progress progress;
    private final Processes processes;
    private final TestServers servers = new TestServers(this);
    private final List<String> notes = new ArrayList<>();
    private final List<Step> endedSteps = new ArrayList<>();
    /** The ids of all steps by their begin; the load's threads read them. */
    private final NavigableMap<Long, String> begunSteps = new ConcurrentSkipListMap<>();

    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile boolean aborted;
    private boolean stopped;
    private final Set<String> models = new TreeSet<>();
    private double warmUpSeconds = Double.POSITIVE_INFINITY;

    /** The step in progress; its label is empty if there is none. The sampler reads the id. */
    private volatile Step step = NO_STEP;

    ExperimentContext(
            Path root,
            RunOptions options,
            List<String> jvmOptions,
            ResultWriter results,
            CpuAllocation allocation,
            Cgroups cgroups,
            Progress progress) {
        this.root = root;
        this.options = options;
        this.jvmOptions = List.copyOf(jvmOptions);
        this.results = results;
        this.allocation = allocation;
        this.progress = progress;
        this.sampler = new Sampler(results, () -> step.id());
        this.validity = new RunValidity(results);
        this.processes = new Processes(
                Processes.temporaryDirectory(), results.logs(), allocation, cgroups, sampler::watch, progress::tick);
    }

    /** Whether the run is to take minutes; otherwise it has the duration that figures are claimed for. */
    public boolean quick() {
        return options.quick();
    }

    public boolean isRemote() {
        return options.isRemote();
    }

    public ChaosTarget chaos() {
        return options.chaos()
                .orElseThrow(() -> new RunFailure("chaos without a deployed gateway (expected: --target URL)"));
    }

    public TestServers servers() {
        return servers;
    }

    public Path file(String path) {
        return root.resolve(path);
    }

    public Processes processes() {
        return processes;
    }

    public long nowMillis() {
        return results.nowMillis();
    }

    public void beginStep(String label) {
        beginStep(nowMillis(), label, "");
    }

    /** Ends the previous step and begins one; {@code x} is the number that it is plotted over, or empty. */
    public void beginStep(long atMillis, String label, String x) {
        endStep(atMillis);
        int number = endedSteps.size() + 1;
        begunSteps.put(atMillis, Integer.toString(number));
        step = new Step(Integer.toString(number), label, x, atMillis, atMillis, label);
        progress.activity(label);
    }

    public void endStep() {
        endStep(nowMillis());
    }

    private void endStep(long atMillis) {
        Step ended = step;
        if (!ended.label().isEmpty()) {
            step = NO_STEP;
            ended = new Step(ended.id(), ended.label(), ended.x(), ended.beganMillis(), atMillis, ended.name());
            results.add(ended);
            endedSteps.add(ended);
        }
    }

    String stepAt(long atMillis) {
        return endedSteps.stream()
                .filter(one -> atMillis >= one.beganMillis() && atMillis < one.endedMillis())
                .map(Step::id)
                .findFirst()
                .orElse("");
    }

    /** A period of the step in progress that plots shade. */
    public void span(String label, long fromMillis, long toMillis) {
        results.add(new ShadedSpan(step.id(), label, fromMillis, toMillis));
    }

    /** Sets a property of the result, such as {@code x}, the unit of a series. */
    public void property(String name, String value) {
        results.property(name, value);
    }

    /** A computed figure. A note replaces a value that is not a number. */
    public void fact(String name, double value, String unit) {
        if (Double.isFinite(value)) {
            results.add(new Fact(name, value, unit));
        } else {
            note(name + ": no figure.");
        }
    }

    /** A figure over time, which is plotted with one line for each program. */
    public void sample(String figure, String program, double value) {
        results.add(new MeterSample(step.id(), nowMillis(), figure, "program=\"" + program + '"', value));
    }

    /** Each load warms up before its first measured step; the shortest warm-up counts. */
    public void warmsUpFor(double seconds) {
        warmUpSeconds = Math.min(warmUpSeconds, seconds);
        results.property("warm-up.seconds", warmUpSeconds);
    }

    /**
     * Runs a load of this process: records its requests, its share of the host's cores in its busiest step,
     * and how late it was. The backends of such a load share this process. The load begins as a step of its
     * label, and may {@linkplain #beginStep(String) begin} further ones.
     */
    public <T> T ownLoad(String label, Callable<T> load) throws InterruptedException {
        sampler.watch(OWN_LOAD, ProcessHandle.current().pid());
        models.add("open");
        results.property("load.model", String.join(", ", models));
        int before = endedSteps.size();
        beginStep(label);
        String first = step.id();
        long offset = nowMillis() - OpenLoad.nowMillis();
        OpenLoad.recordTo(request -> {
            Request own = request.later(offset);
            Map.Entry<Long, String> of = begunSteps.floorEntry(own.atMillis());
            results.add(own.in(of == null ? first : of.getValue()));
        });
        try {
            return load.call();
        } catch (InterruptedException | RunFailure e) {
            throw e;
        } catch (Exception e) {
            throw new RunFailure(label + ": " + e, e);
        } finally {
            OpenLoad.recordTo(request -> {});
            endStep();
            double busy = busyCores(OWN_LOAD, before).orElse(Double.NaN);
            fact("generator." + label + ".busy", 100 * busy / Host.cores().size(), "% of all cores, with backends");
            fact("generator." + label + ".delay.p99", OpenLoad.delayP99Millis(), "ms");
            fact("generator." + label + ".delay.longest", (double) OpenLoad.latestMillis(), "ms");
        }
    }

    /** A sentence that readers of the figures need. */
    public void note(String sentence) {
        notes.add(sentence);
        results.property("notes", String.join(" ", notes));
    }

    /** A condition besides Gatling's assertions. The run fails if it does not hold, and goes on. */
    public void require(String condition, boolean holds, String measured) {
        validity.add(new Assertion("", condition, holds, measured));
    }

    public void invalidate(String reason) {
        validity.invalidate(reason);
    }

    /** Checks the generator in its busiest step: an average over all steps would hide it. */
    void checkGenerator(String load, String process, GatlingLoad.Result result) {
        validity.checkGenerator(load, result, busyCores(process, 0), generatorCores());
    }

    /** The busy cores of a process in its busiest step after the first ones. */
    private OptionalDouble busyCores(String process, int skippedSteps) {
        return endedSteps.stream()
                .skip(skippedSteps)
                .filter(one -> !one.label().equals(RunResult.WARM_UP))
                .flatMapToDouble(one -> sampler.busyCores(process, one.id()).stream())
                .max();
    }

    public double mean(String process, int stepNumber, ToLongFunction<ProcessSample> value) {
        return sampler.mean(process, Integer.toString(stepNumber), value);
    }

    public void goesOnUntil(long atMillis) {
        progress.atLeast(Duration.ofMillis(Math.max(0, atMillis - nowMillis())));
    }

    public void sleepUntil(long atMillis) throws InterruptedException {
        while (nowMillis() < atMillis) {
            processes.check();
            progress.tick();
            Thread.sleep(Math.clamp(atMillis - nowMillis(), 1, 100));
        }
    }

    public void progress(String activity) {
        progress.activity(activity);
    }

    /**
     * The command of a JVM under test, up to its class path: with the heap and the number of granted cores.
     */
    public List<String> java(String heap) {
        Stream<String> common = Stream.of(
                Host.java(),
                "-Xmx" + heap,
                "-XX:ActiveProcessorCount=" + cores(),
                "--enable-native-access=ALL-UNNAMED",
                "-Djava.io.tmpdir=" + processes.directory());
        return Stream.concat(common, jvmOptions.stream()).toList();
    }

    List<String> jvmOptions() {
        return jvmOptions;
    }

    int generatorCores() {
        return allocation.generatorCores();
    }

    public int cores() {
        return allocation.granted();
    }

    public ManagedProcess start(String name, List<String> command) {
        return processes.start(Role.UNDER_TEST, name, command, Map.of());
    }

    /** Stops servers of this machine, all at the same time. */
    public void stop(RunningServer... servers) {
        processes.stop(
                Stream.of(servers).flatMap(server -> server.process().stream()).toArray(ManagedProcess[]::new));
    }

    public GatlingLoad load(GatlingLoad.GatlingPlan plan) {
        progress.activity(plan.label() + " warms up");
        models.add(plan.simulation().equals("OpenModel") ? "open" : "closed");
        results.property("load.model", String.join(", ", models));
        return new GatlingLoad(this, plan);
    }

    /** Stops the experiment from another thread; returns when nothing runs and the raw files are complete. */
    void abort() throws InterruptedException {
        aborted = true;
        stopAll();
        if (!closed.await(ABORT_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new RunFailure("the experiment does not stop; its raw files may be incomplete");
        }
    }

    /** Heals the remote target and ends all processes; only the first call does anything. */
    synchronized void stopAll() {
        if (!stopped) {
            stopped = true;
            options.target().ifPresent(RemoteTarget::heal);
            options.chaos().ifPresent(ChaosTarget::endFaults);
            processes.close();
        }
    }

    @Override
    public void close() {
        endStep();
        sampler.close();
        stopAll();
        validity.write(aborted);
        results.close();
        progress.clear();
        closed.countDown();
    }
}
