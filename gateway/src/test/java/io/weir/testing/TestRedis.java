package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A real Redis, Debian's, on a port of the loopback interface. It keeps nothing on disk. */
public final class TestRedis implements AutoCloseable {

    private static final Path SERVER = Path.of("/usr/bin/redis-server");

    private final String address;
    private final int port;
    private final List<String> options;
    private Process process;

    private TestRedis(String address, int port, List<String> options) throws IOException {
        this.address = address;
        this.port = port;
        this.options = options;
        this.process = startProcess();
    }

    /** Starts one. Skips the test if Redis is not installed, unless {@code -Dredis=required}. */
    public static TestRedis start() throws IOException {
        return start(List.of());
    }

    /** Starts one at an address, on the port of another one. */
    public static TestRedis startAt(String address, TestRedis other) throws IOException {
        return new TestRedis(address, other.port, List.of());
    }

    /** Starts a node of a cluster, whose state is in a directory. Skips the test as {@link #start()} does. */
    public static TestRedis startNode(Path directory) throws IOException {
        return start(List.of(
                "--dir",
                directory.toString(),
                "--cluster-enabled",
                "yes",
                "--cluster-port",
                Integer.toString(FreePort.next()),
                "--cluster-node-timeout",
                "2000",
                // A node that is down concerns its own slots only.
                "--cluster-require-full-coverage",
                "no"));
    }

    private static TestRedis start(List<String> options) throws IOException {
        boolean isInstalled = Files.isExecutable(SERVER);
        if ("required".equals(System.getProperty("redis"))) {
            assertThat(isInstalled).as("%s is installed", SERVER).isTrue();
        }
        assumeTrue(isInstalled, () -> "no " + SERVER + ": apt-get install redis-server");
        return new TestRedis("127.0.0.1", FreePort.next(), options);
    }

    private Process startProcess() throws IOException {
        List<String> command = new ArrayList<>(List.of(
                SERVER.toString(),
                "--port",
                Integer.toString(port),
                "--bind",
                address,
                "--save",
                "",
                "--appendonly",
                "no"));
        command.addAll(options);
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    /** Its port. */
    public int port() {
        return port;
    }

    /** The option of a node of a cluster. */
    int clusterPort() {
        return Integer.parseInt(options.get(options.indexOf("--cluster-port") + 1));
    }

    /** Its URI. */
    public String uri() {
        return "redis://" + address + ':' + port;
    }

    /** Redis is gone: connections are reset, new ones refused. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Redis is back, without its data. */
    public void startAgain() throws IOException {
        process = startProcess();
    }

    /** Redis keeps its connections, and answers nothing. */
    public void freeze() throws IOException, InterruptedException {
        signal("STOP");
    }

    /** Redis goes on. */
    public void thaw() throws IOException, InterruptedException {
        signal("CONT");
    }

    private void signal(String name) throws IOException, InterruptedException {
        List<String> command = List.of("kill", "-" + name, Long.toString(process.pid()));
        assertThat(new ProcessBuilder(command).start().waitFor()).isZero();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
