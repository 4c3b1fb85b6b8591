package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.Launcher;
import io.weir.perf.run.PerfRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The launcher reads the experiments from the sources, and checks the arguments. */
class ExperimentsTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource({
        "'', no experiment",
        "unknown, unknown",
        "containment unknown --quick, unknown",
        "containment --loud, --loud",
        "containment --cpus, --cpus",
        "containment --cpus 0, --cpus 0",
        "containment --target, --target (expected: a URL)",
        "containment --target http://127.0.0.1:1, --target alone",
        "containment --faults http://127.0.0.1:1, --faults alone",
        "containment --route orders=/orders, --route",
        "containment --rate, --rate",
        "chaos, chaos",
        "chaos --target http://127.0.0.1:1, chaos",
        "chaos --target http://127.0.0.1:1 --faults http://127.0.0.1:1, chaos",
        "containment --cpus 2 --target http://127.0.0.1:1 --faults http://127.0.0.1:1, --cpus with --target"
    })
    void refusesBeforeAnythingIsBuilt(String line, String refusal) throws Exception {
        String[] arguments = line.isEmpty() ? new String[0] : line.split(" ", -1);

        Launcher refused = Launcher.run(directory, "run", arguments);

        assertThat(refused.exitCode()).isEqualTo(2);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err().lines())
                .singleElement()
                .asString()
                .startsWith("perf/run: ")
                .contains(refusal);
        assertThat(refused.err()).contains(" (expected: ");
    }

    /** One command measures all that the pages state. */
    @Test
    void oneCommandMeasuresEachExperimentAndTable() throws Exception {
        Launcher all = Launcher.run(directory, "all", "--list");

        assertThat(all.exitCode()).isZero();
        List<String> commands = all.out()
                .lines()
                .map(line -> line.replaceFirst("^\\d+ (chaos )?", "").replaceAll(" --.*", ""))
                .toList();
        assertThat(commands)
                .doesNotHaveDuplicates()
                .containsAll(Experiments.all().stream()
                        .filter(one -> !one.name().equals("chaos"))
                        .map(one -> "perf/run " + one.name())
                        .toList())
                .contains("perf/conformance", "grid");
        assertThat(all.out()).containsPattern("\\d chaos --");
        String page = Files.readString(Path.of("README.md"));
        Matcher stated = Pattern.compile("\\| `(perf/[^`]+)` \\| [A-Z0-9]")
                .matcher(page.substring(0, page.indexOf("## Experiments")));
        assertThat(stated.results()).hasSizeGreaterThan(10);
        stated.reset();
        while (stated.find()) {
            String command = stated.group(1);
            String experiment = command.replace("scenario limit", "run overload-untuned");
            assertThat(List.of(command, experiment.replace("perf/scenario", "perf/run")))
                    .as("%s", command)
                    .anyMatch(commands::contains);
        }
    }

    /** The program also lists missing tools. */
    @Test
    void listsBeforeAnythingIsBuilt() throws Exception {
        Launcher program = Launcher.program(() -> PerfRun.run(Experiments.all(), "--list"));

        Launcher list = Launcher.run(directory, "run", "--list");

        assertThat(list.exitCode()).isZero();
        assertThat(list.out().lines())
                .containsExactlyElementsOf(program.out()
                        .lines()
                        .filter(line -> !line.startsWith(" "))
                        .toList());
    }
}
