package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.TestBackend;
import io.weir.testing.TestGateway;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The first file of the front page puts the gateway in front of a service. */
class FirstConfigurationIT {

    private static final Pattern FILE = Pattern.compile("<<'END' .*\\n((?:.*\\n)*?)END\\n");
    private static final String PORT = "127.0.0.1:3000";

    @TempDir
    private Path directory;

    @Test
    void answersFromTheService() throws Exception {
        String written = FILE.matcher(Files.readString(Path.of("..", "README.md")))
                .results()
                .findFirst()
                .map((MatchResult found) -> found.group(1))
                .orElseThrow();
        assertThat(written.lines()).hasSize(5).anyMatch(line -> line.contains(PORT));

        try (TestBackend service = TestBackend.healthy();
                TestGateway gateway = TestGateway.startWith(Files.writeString(
                        directory.resolve("weir.yml"),
                        written.replace(PORT, URI.create(service.uri()).getAuthority())));
                HttpClient caller = HttpClient.newHttpClient()) {
            HttpResponse<String> answer = caller.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + gateway.port() + "/"))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());

            assertThat(answer.statusCode()).isEqualTo(200);
        }
    }
}
