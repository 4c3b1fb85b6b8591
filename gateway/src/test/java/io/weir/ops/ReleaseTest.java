package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The files of a release fit the gateway; {@code ops/try-release} installs and starts it. */
class ReleaseTest {

    private static final Path OPS = Path.of("..", "ops");
    private static final Path PRODUCTION = Path.of("..", "config", "production.yml");

    /** An AOT cache and the measurements are those of one collector. */
    @Test
    void launcherAndImageHaveTheSameCollectorAndFlags() throws IOException {
        assertThat(flags(OPS.resolve("release/java.options")))
                .isNotEmpty()
                .isEqualTo(flags(OPS.resolve("images/gateway/java.options")));
    }

    @Test
    void unitWaitsLongerThanTheDrain() throws IOException {
        long stopSeconds = Long.parseLong(only("TimeoutStopSec=(\\d+)", OPS.resolve("release/weir.service"))
                .group(1));
        String production = Files.readString(PRODUCTION);
        long drainSeconds = Pattern.compile("(?m)^    (?:delay|timeout): (\\d+)s$")
                .matcher(production)
                .results()
                .mapToLong(match -> Long.parseLong(match.group(1)))
                .sum();

        assertThat(drainSeconds).isPositive();
        assertThat(Duration.ofSeconds(stopSeconds)).isGreaterThan(Duration.ofSeconds(drainSeconds + 10));
    }

    @Test
    void unitDoesNotRestartAnInvalidConfiguration() throws IOException {
        assertThat(only("RestartPreventExitStatus=(.*)", OPS.resolve("release/weir.service"))
                        .group(1)
                        .split(" "))
                .containsExactly("1", "2");
    }

    /** Tokens and other secrets may stand in each of them. */
    @Test
    void packageLetsOnlyRootAndTheGatewayReadItsConfiguration() throws IOException {
        List<String> files = Files.readAllLines(OPS.resolve("release/deb/conffiles"));
        String mode = only("    chmod 640 (.*)", OPS.resolve("release/build")).group(1);
        String owner =
                only("    chgrp weir (.*)", OPS.resolve("release/deb/postinst")).group(1);

        assertThat(files).contains("/etc/weir/weir.yml");
        assertThat(mode.split(" "))
                .containsExactlyInAnyOrderElementsOf(
                        files.stream().map(file -> "\"$root" + file + '"').toList());
        assertThat(owner.split(" ")).containsExactlyInAnyOrderElementsOf(files);
    }

    /** The launcher documents each exit code of the gateway. */
    @Test
    void launcherDocumentsTheExitCodesOfTheGateway() throws IOException {
        String launcher = Files.readString(OPS.resolve("release/weir"));
        String page = Files.readString(Path.of("..", "config", "README.md"));
        List<String> codes = Pattern.compile("(?m)^\\| (\\d+) \\| ")
                .matcher(page.substring(page.indexOf("| exit code |")))
                .results()
                .map(match -> match.group(1))
                .toList();

        assertThat(codes).contains("0", "1", "2", "4", "5", "129", "130");
        assertThat(codes).allSatisfy(code -> assertThat(launcher).containsPattern("(?m)^#   " + code + " +[a-z]"));
    }

    @Test
    void exampleOfAnExtensionHasTheVersionsOfTheGateway() throws IOException {
        String pom = Files.readString(Path.of("..", "pom.xml"));
        String example = Files.readString(OPS.resolve("extension-example/pom.xml"));
        for (String name : List.of("spring-boot", "spring-cloud", "spring-framework", "netty", "reactor-netty")) {
            assertThat(example).contains(pom.replaceFirst("(?s).*(<" + name + "\\.version>[^<]+<).*", "$1"));
        }
    }

    private static List<String> flags(Path options) throws IOException {
        return Files.readAllLines(options).stream()
                .filter(line -> line.matches("-XX:[+-].*|--.*"))
                .toList();
    }

    private static MatchResult only(String pattern, Path file) throws IOException {
        List<MatchResult> found = Pattern.compile("(?m)^" + pattern + "$")
                .matcher(Files.readString(file))
                .results()
                .toList();
        assertThat(found).as(pattern).hasSize(1);
        return found.getFirst();
    }
}
