package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A real Redis, Debian's, on a free port of the loopback interface. It keeps nothing on disk. */
public final class TestRedis implements AutoCloseable {

    private static final Path SERVER = Path.of("/usr/bin/redis-server");

    private final int port;
    private Process process;

    private TestRedis(int port) throws IOException {
        this.port = port;
        this.process = startProcess(port);
    }

    /** Starts one. Skips the test if Redis is not installed, unless {@code -Dredis=required}. */
    public static TestRedis start() throws IOException {
        boolean isInstalled = Files.isExecutable(SERVER);
        if ("required".equals(System.getProperty("redis"))) {
            assertThat(isInstalled).as("%s is installed", SERVER).isTrue();
        }
        assumeTrue(isInstalled, () -> "no " + SERVER + ": apt-get install redis-server");
        return new TestRedis(FreePort.next());
    }

    private static Process startProcess(int port) throws IOException {
        return new ProcessBuilder(
                        SERVER.toString(),
                        "--port",
                        Integer.toString(port),
                        "--bind",
                        "127.0.0.1",
                        "--save",
                        "",
                        "--appendonly",
                        "no")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    /** Its URI. */
    public String uri() {
        return "redis://127.0.0.1:" + port;
    }

    /** Redis is gone: connections are reset, new ones refused. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Redis is back, without its data. */
    public void startAgain() throws IOException {
        process = startProcess(port);
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
