package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * What an experiment works with: processes within their limits, the load, and the raw files.
 *
 * <p>Concurrency: an experiment runs on one thread. A shutdown hook may {@link #abort()} it at any time; whatever the experiment starts after that is ended at once.
 */
public final class Bench implements AutoCloseable {

    private static final Duration START = Duration.ofMinutes(2);
    /** An experiment that is stopped looks for that several times a second. */
    private static final Duration CLOSING = Duration.ofSeconds(10);

    /** The label of a step that is not looked at. */
    public static final String WARM_UP = "warm-up";

    private final Path root;
    private final boolean quick;
    private final Optional<Target> target;
    private final List<String> jvm;
    private final Raw raw;
    private final Verdict verdict;
    private final Path temporary;
    private final Limits limits;
    private final Cgroups cgroups;
    private final Sampler sampler;
    private final Progress progress;
    private final List<Child> children = new CopyOnWriteArrayList<>();
    private final Map<String, Integer> slots = new TreeMap<>();
    private final List<String> notes = new ArrayList<>();
    /** Of those that have ended. */
    private final List<Step> steps = new ArrayList<>();

    private volatile boolean stopping;
    private final CountDownLatch closed = new CountDownLatch(1);
    /** The step under way, for the sampler; 0: none. */
    private final AtomicInteger step = new AtomicInteger();

    private int stepNumber;
    private String label = "";
    private String x = "";
    private long stepBegan;

    /** A step that has ended, by its number. */
    private record Step(int number, String label, long began, long ended) {}

    Bench(
            Path root,
            boolean quick,
            Optional<Target> target,
            List<String> jvm,
            Raw raw,
            Limits limits,
            Cgroups cgroups,
            Progress progress) {
        this.target = target;
        this.jvm = List.copyOf(jvm);
        this.root = root;
        this.quick = quick;
        this.raw = raw;
        this.limits = limits;
        this.cgroups = cgroups;
        this.progress = progress;
        this.sampler = new Sampler(raw, step::get);
        this.verdict = new Verdict(raw);
        try {
            this.temporary = Files.createTempDirectory("weir-perf");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether it is to take minutes. */
    public boolean quick() {
        return quick;
    }

    /** The gateway that is asked, if it runs elsewhere. */
    Optional<Target> target() {
        return target;
    }

    /** The project's folder. */
    public Path root() {
        return root;
    }

    /** A folder that goes with the run. */
    public Path temporary() {
        return temporary;
    }

    Raw raw() {
        return raw;
    }

    long began() {
        return raw.began();
    }

    /** Milliseconds since the run began. */
    public long now() {
        return raw.now();
    }

    /** Begins a step, and ends the one before. */
    public void step(String what) {
        step(what, "");
    }

    /**
     * Begins a step, and ends the one before.
     *
     * @param over the number that it is plotted over, such as the concurrency; empty: none
     */
    public void step(String what, String over) {
        stepAt(now(), what, over);
    }

    /** Begins a step that began at that time. */
    public void stepAt(long at, String what, String over) {
        endStep(at);
        label = what;
        x = over;
        stepBegan = at;
        progress.step(++stepNumber, what);
        step.set(stepNumber);
    }

    /** Ends the step that is under way. */
    public void endStep() {
        endStep(now());
    }

    private void endStep(long at) {
        if (!label.isEmpty()) {
            raw.step(stepNumber, label, x, stepBegan, at);
            steps.add(new Step(stepNumber, label, stepBegan, at));
            label = "";
            step.set(0);
        }
    }

    /** The step that was under way at that time, of those that have ended; 0: none. */
    int stepAt(long atMillis) {
        return steps.stream()
                .filter(one -> atMillis >= one.began() && atMillis < one.ended())
                .mapToInt(Step::number)
                .findFirst()
                .orElse(0);
    }

    /** A stretch of the step under way that a plot shades. */
    public void span(String what, long from, long to) {
        raw.span(stepNumber, what, from, to);
    }

    /** Something to be known of the run, such as what its steps are a series of ({@code x}). */
    public void property(String name, String value) {
        raw.property(name, value);
    }

    /** A figure that the experiment has computed; if it is no number, a note says so. */
    public void fact(String name, double value, String unit) {
        if (!Double.isFinite(value)) {
            note(name + ": no figure.");
            return;
        }
        raw.fact(name, value, unit);
    }

    /** What a reader of the figures has to know of them. */
    public void note(String what) {
        notes.add(what);
        raw.property("notes", String.join(" ", notes));
    }

    /**
     * What has to hold, apart from Gatling's assertions. If it does not, the run fails, and goes on; the report says so either way.
     *
     * @param measured what was found
     */
    public void mustHold(String what, boolean holds, String measured) {
        verdict.mustHold(what, holds, measured);
    }

    /** Why the run is no result. */
    public void invalidate(String why) {
        verdict.invalidate(why);
    }

    Verdict verdict() {
        return verdict;
    }

    /** Whether a generator was itself late or saturated, by the step in which it was busiest: over all of them its pauses would hide that one. */
    void judgeGenerator(String run, String process, Gatling.Result result) {
        OptionalDouble busy = steps.stream()
                .filter(one -> !one.label().equals(WARM_UP))
                .map(one -> sampler.cores(process, one.number()))
                .flatMapToDouble(OptionalDouble::stream)
                .max();
        verdict.judge(run, result, busy, generatorCores());
    }

    // ---------------------------------------------------------------- time

    /**
     * The mean of what was sampled of a process in a step: {@code threads}, or {@code rss} in bytes.
     *
     * @throws RunFailure if nothing was sampled
     */
    public double sampled(String process, String what, int ofStep) {
        return sampler.mean(process, what, ofStep);
    }

    /** Says that it will go on until then at least, for the time left. */
    public void goesOnUntil(long atMillis) {
        progress.atLeast(Duration.ofMillis(Math.max(0, atMillis - now())));
    }

    /** Waits until that many milliseconds after the run began. */
    public void sleepUntil(long atMillis) throws InterruptedException {
        while (now() < atMillis) {
            check();
            progress.tick();
            Thread.sleep(Math.clamp(atMillis - now(), 1, 100));
        }
    }

    /** Waits until it holds. */
    public void await(String what, BooleanSupplier condition) throws InterruptedException {
        await(what, START, condition);
    }

    /** Waits until it holds, for so long at the most. */
    void await(String what, Duration atMost, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + atMost.toNanos();
        while (!condition.getAsBoolean()) {
            check();
            if (System.nanoTime() > end) {
                throw new RunFailure("not within " + atMost.toSeconds() + " s: " + what);
            }
            progress.tick();
            Thread.sleep(50);
        }
    }

    private void check() {
        if (stopping) {
            throw new RunFailure("stopped");
        }
        for (Child child : children) {
            if (child.hasDied()) {
                child.release();
                throw new RunFailure(child.name() + " has ended by itself, with status " + child.exitValue()
                        + "; its last lines:\n    " + child.lastLines());
            }
        }
    }

    // ---------------------------------------------------------------- processes

    /** A JVM's command up to what it is to run: the heap's limit, and as many processors as the process really gets. */
    public List<String> java(String heap) {
        List<String> command = new ArrayList<>(List.of(
                javaCommand(),
                "-Xmx" + heap,
                "-XX:ActiveProcessorCount=" + limits.granted(),
                "--enable-native-access=ALL-UNNAMED",
                "-Djava.io.tmpdir=" + temporary));
        command.addAll(jvm);
        return List.copyOf(command);
    }

    String javaCommand() {
        return ProcessHandle.current().info().command().orElse("java");
    }

    int generatorCores() {
        return limits.generatorsOwn() ? limits.generator().size() : limits.host();
    }

    /** Starts a process under test, within its limits, and has it watched. */
    public Child launch(String name, List<String> command, Map<String, String> environment) {
        int slot = 0;
        while (slots.containsValue(slot)) {
            slot++;
        }
        slots.put(name, slot);
        List<Integer> cores = limits.processes().get(slot % limits.processes().size());
        return launch(name, command, environment, cores, false, false);
    }

    /** Starts a process that is there only for others: it is limited like them, has no cores of its own, and is not sampled. */
    public Child launchBeside(String name, List<String> command) {
        return launch(name, command, Map.of(), limits.processes().getLast(), false, true);
    }

    /** Starts a process on the generator's cores: the load, or what is as light and only there for it. */
    public Child launchGenerator(String name, List<String> command) {
        return launch(name, command, Map.of(), limits.generator(), true, false);
    }

    /** Starts one of many on the generator's cores: too many to be sampled each by itself. */
    public Child launchCaller(String name, List<String> command) {
        return launch(name, command, Map.of(), limits.generator(), true, true);
    }

    /** How many files {@link Host#withOpenFiles} grants of these. */
    public int openFiles(int wanted) {
        Child shell = launchGenerator("open-files", Host.withOpenFiles(wanted, List.of("/bin/sh", "-c", "ulimit -n")));
        try {
            shell.awaitExit();
            String granted = shell.said().strip();
            return granted.equals("unlimited") ? wanted : Math.min(wanted, Integer.parseInt(granted));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RunFailure("stopped", e);
        } finally {
            forget(shell);
        }
    }

    /** How many cores a process under test really has. */
    public int cores() {
        return limits.granted();
    }

    /** Has wrk ask for so long; what came of it. */
    public Wrk.Result wrk(int connections, Duration time, String uri) throws InterruptedException {
        Child wrk = launchGenerator("wrk", Wrk.command(connections, time, uri));
        wrk.release();
        try {
            await("wrk ends", () -> !wrk.alive());
            return Wrk.Result.parse(wrk.said());
        } finally {
            forget(wrk);
        }
    }

    /**
     * The processor time that a process and those that it has started have used.
     *
     * @throws RunFailure if that is not known, since it has ended
     */
    public Duration used(Child child) {
        return Proc.ofAll(child.pid(), Set.of())
                .map(proc -> Duration.of(proc.cpuMicros(), ChronoUnit.MICROS))
                .orElseThrow(() -> new RunFailure(child.name() + ": its processor time is not known"));
    }

    /** The memory of a process and of those that it has started: {@code rss} and {@code pss}, in bytes. */
    public Map<String, Long> memory(Child child) {
        Proc.Memory memory = Proc.Memory.of(child.pid());
        return Map.of("rss", memory.rssBytes(), "pss", memory.pssBytes());
    }

    private Child launch(
            String name,
            List<String> command,
            Map<String, String> environment,
            List<Integer> cores,
            boolean generator,
            boolean unseen) {
        List<String> limited = new ArrayList<>();
        // Out of the terminal's reach: Ctrl-C is for this process, which then ends the others in order.
        if (Host.has("setsid")) {
            limited.add("setsid");
        }
        if (limits.quota() && !(generator && limits.generatorsOwn())) {
            limited.addAll(List.of(
                    "/bin/sh",
                    "-c",
                    "echo $$ > \"$0\" && exec \"$@\"",
                    cgroups.group(name, limits.granted(), generator).toString()));
        }
        if (!cores.isEmpty()) {
            limited.addAll(List.of(
                    "taskset",
                    "-c",
                    String.join(",", cores.stream().map(String::valueOf).toList())));
        }
        limited.addAll(command);
        try {
            Child child = Child.start(name, limited, environment, raw.log(name));
            children.add(child);
            if (stopping) {
                child.close();
            }
            if (!unseen) {
                sampler.watch(name, child.pid());
            }
            return child;
        } catch (IOException e) {
            throw new RunFailure(name + " does not start: " + e.getMessage(), e);
        }
    }

    /** Has a process watched that was not started here, with those that it starts. */
    void watch(String name, long pid) {
        sampler.watch(name, pid);
    }

    /** Has a gateway's meters written down too. */
    public void scrape(Child gateway, int managementPort) {
        sampler.scrape(gateway.name(), managementPort);
    }

    /** Stops these, all at once; what runs elsewhere goes on. */
    public void stop(Fleet.Server... these) {
        stop(Stream.of(these).flatMap(server -> server.child().stream()).toArray(Child[]::new));
    }

    /** Stops these, all at once. */
    public void stop(Child... these) {
        for (Child child : these) {
            child.terminate();
        }
        for (Child child : these) {
            child.awaitEnd();
            forget(child);
        }
    }

    void forget(Child child) {
        sampler.forget(child.name());
        slots.remove(child.name());
        children.remove(child);
    }

    /** Lets Gatling make load. */
    public Gatling load(Gatling.Load load) {
        progress.doing(load.label() + " warms up");
        return new Gatling(this, load);
    }

    /** Says what is being done before there is a step. */
    public void doing(String what) {
        progress.doing(what);
    }

    /** Stops the experiment from another thread: when this returns, nothing runs any more, and the raw files are whole. */
    void abort() throws InterruptedException {
        stopAll();
        if (!closed.await(CLOSING.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new RunFailure("the experiment does not stop; its raw files may be cut off");
        }
    }

    /** Ends all that was started, the last first. */
    synchronized void stopAll() {
        if (!stopping) {
            target.ifPresent(Target::heal);
        }
        stopping = true;
        List<Child> all = new ArrayList<>(children).reversed();
        all.forEach(Child::terminate);
        all.forEach(Child::awaitEnd);
        cgroups.close();
        try {
            Raw.empty(temporary);
        } catch (IOException e) {
            // A process that was killed may still be writing; it is a temporary folder.
        }
    }

    @Override
    public void close() {
        endStep();
        sampler.close();
        boolean stopped = stopping;
        stopAll();
        verdict.write(stopped);
        raw.close();
        progress.clear();
        closed.countDown();
    }
}
