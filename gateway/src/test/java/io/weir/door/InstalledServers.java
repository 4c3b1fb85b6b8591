package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.FreePort;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;

/** Servers that are packages of the operating system, and how they read a path. */
final class InstalledServers {

    private static final Path NGINX = Path.of("/usr/sbin/nginx");

    /** Prints those targets of its input that Python's own server takes from the folder {@code /admin}. */
    private static final String PYTHON = """
            import io, sys
            from http.server import SimpleHTTPRequestHandler

            class Handler(SimpleHTTPRequestHandler):
                def __init__(self, target):
                    self.directory = '/served'
                    self.client_address = ('127.0.0.1', 0)
                    self.raw_requestline = b'GET ' + target + b' HTTP/1.1\\r\\n'
                    self.rfile = io.BytesIO(b'Host: weir.test\\r\\n\\r\\n')
                    self.wfile = io.BytesIO()

                def log_message(self, *arguments):
                    pass

            for line in sys.stdin.buffer:
                handler = Handler(line.rstrip(b'\\n'))
                if handler.parse_request():
                    file = handler.translate_path(handler.path)
                    if (file + '/').startswith('/served/admin/'):
                        print(line.decode('ascii'), end='')
            """;

    /** Prints those targets of its input that Go's own server serves from {@code /admin}. */
    private static final String GO = """
            package main

            import (
                "bufio"
                "fmt"
                "net/http"
                "net/http/httptest"
                "os"
                "strings"
            )

            func main() {
                served := false
                mux := http.NewServeMux()
                admin := func(http.ResponseWriter, *http.Request) { served = true }
                mux.HandleFunc("/admin", admin)
                mux.HandleFunc("/admin/", admin)
                targets := bufio.NewScanner(os.Stdin)
                for targets.Scan() {
                    head := "GET " + targets.Text() + " HTTP/1.1\\r\\nHost: weir.test\\r\\n\\r\\n"
                    request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
                    if err != nil {
                        continue
                    }
                    served = false
                    mux.ServeHTTP(httptest.NewRecorder(), request)
                    if served {
                        fmt.Println(targets.Text())
                    }
                }
            }
            """;

    private InstalledServers() {}

    /** Whether a program is installed; {@code -Dservers=required}: it must be. */
    private static boolean isInstalled(String what, boolean found) {
        if ("required".equals(System.getProperty("servers"))) {
            assertThat(found).as("%s is installed", what).isTrue();
        }
        return found;
    }

    static boolean hasNginx() {
        return isInstalled("nginx", Files.isExecutable(NGINX));
    }

    static boolean hasPython() throws InterruptedException {
        return isInstalled("python3", runs("python3", "-c", "import http.server"));
    }

    static boolean hasGo() throws InterruptedException {
        return isInstalled("go", runs("go", "version"));
    }

    private static boolean runs(String... command) throws InterruptedException {
        try {
            return new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** Starts nginx, which answers {@code served} below {@code /admin}, and returns its port. */
    static int startNginx(Path directory, String served, List<AutoCloseable> servers) throws IOException {
        int port = FreePort.next();
        Path file = directory.resolve("nginx.conf");
        Files.writeString(file, """
                daemon off; master_process off; pid %1$s/nginx.pid; error_log stderr crit;
                events {}
                http {
                  access_log off; keepalive_requests 1000000; default_type text/plain;
                  client_body_temp_path %1$s; proxy_temp_path %1$s; fastcgi_temp_path %1$s;
                  uwsgi_temp_path %1$s; scgi_temp_path %1$s;
                  server {
                    listen 127.0.0.1:%2$d;
                    location / { return 200 other; }
                    location = /admin { return 200 %3$s; }
                    location /admin/ { return 200 %3$s; }
                  }
                }
                """.formatted(directory, port, served));
        Process process = new ProcessBuilder(
                        NGINX.toString(), "-e", "stderr", "-p", directory.toString(), "-c", file.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        servers.add(() -> process.destroyForcibly().waitFor());
        await().atMost(TestGateway.PATIENCE)
                .ignoreExceptions()
                .until(() -> TestCaller.get(port, "/").status() == 200);
        return port;
    }

    /** Those of these targets that Python serves from {@code /admin}. */
    static List<String> servedByPython(Path directory, Collection<String> targets) throws Exception {
        return served(directory, "python", targets, "python3", "-c", PYTHON);
    }

    /** Compiles Go's server. */
    static Path buildGo(Path directory) throws Exception {
        Path source = Files.writeString(directory.resolve("admin.go"), GO);
        Path program = directory.resolve("admin");
        Process process = new ProcessBuilder("go", "build", "-o", program.toString(), source.toString())
                .inheritIO()
                .start();
        assertThat(process.waitFor()).isZero();
        return program;
    }

    /** Those of these targets that Go serves from {@code /admin}. */
    static List<String> servedByGo(Path program, Path directory, Collection<String> targets) throws Exception {
        return served(directory, "go", targets, program.toString());
    }

    private static List<String> served(Path directory, String name, Collection<String> targets, String... command)
            throws Exception {
        Path input = Files.write(directory.resolve(name + ".targets"), targets);
        Path output = directory.resolve(name + ".served");
        Process process = new ProcessBuilder(command)
                .redirectInput(input.toFile())
                .redirectOutput(output.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        assertThat(process.waitFor()).isZero();
        return Files.readAllLines(output);
    }
}
