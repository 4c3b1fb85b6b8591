package io.weir.perf.run;

import io.weir.perf.result.ResultWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Creates contexts without an experiment. */
final class TestContext {

    private TestContext() {}

    /** Writes its results to {@code raw} in the directory. */
    static ExperimentContext create(Path directory, CpuAllocation allocation, Optional<RemoteTarget> target) {
        try {
            return new ExperimentContext(
                    directory,
                    new RunOptions(List.of(), false, true, 0, target),
                    List.of(),
                    new ResultWriter(directory.resolve("raw")),
                    allocation,
                    new Cgroups(),
                    new Progress("test", Duration.ZERO, Duration.ZERO));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
