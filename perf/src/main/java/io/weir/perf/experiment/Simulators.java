package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Child;
import io.weir.perf.run.Fleet;
import io.weir.perf.run.Host;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Simulated services of {@code backends-sim}, one at a time: with only what its stack needs, from the stack's own jar, or with everything. */
final class Simulators {

    /** What the process under test is called in the figures, whichever it is. */
    static final String SERVICE = "service";

    private static final String HEAP = "512m";

    private final Bench bench;
    private final Fleet fleet;
    private final String database;

    Simulators(Bench bench) throws InterruptedException {
        this.bench = bench;
        this.fleet = new Fleet(bench);
        bench.doing("PostgreSQL starts");
        this.database = fleet.database();
    }

    /** The jar that is packaged for a stack. */
    static Path jar(Bench bench, String stack) {
        return bench.root().resolve("backends-sim/target/weir-backends-sim-" + stack + ".jar");
    }

    /** The service under test, from its stack's own jar; it answers. */
    Fleet.Server ofStack(String stack, String ready, String... settings) throws InterruptedException {
        return start(SERVICE, jar(bench, stack), stack, ready, settings);
    }

    /** The service under test, from the jar with everything; it answers. */
    Fleet.Server whole(String stack, String ready, String... settings) throws InterruptedException {
        return beside(SERVICE, stack, ready, settings);
    }

    /** Another service, from the jar with everything; it answers. */
    Fleet.Server beside(String name, String stack, String ready, String... settings) throws InterruptedException {
        return start(name, bench.root().resolve("backends-sim/target/weir-backends-sim.jar"), stack, ready, settings);
    }

    private Fleet.Server start(String name, Path jar, String stack, String ready, String... settings)
            throws InterruptedException {
        bench.doing(stack + " starts");
        int port = Host.freePort();
        int management = Host.freePort();
        List<String> command = new ArrayList<>(bench.java(HEAP));
        command.addAll(List.of(
                "-jar",
                jar.toString(),
                "--sim.stack=" + stack,
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--management.server.port=" + management,
                "--sim.database.url=" + database));
        command.addAll(List.of(settings));
        Child child = bench.launch(name, command, Map.of());
        Fleet.Server server = new Fleet.Server(child, port, management);
        fleet.ready(server, ready);
        return server;
    }
}
