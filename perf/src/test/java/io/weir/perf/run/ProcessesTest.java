package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ProcessesTest {

    private final Processes processes = Processes.unlimited();

    @AfterEach
    void stop() {
        processes.close();
    }

    private ManagedProcess start(String name, String... command) {
        return processes.start(name, List.of(command), Map.of("WORD", "hello"));
    }

    @Test
    void recordsOutputAndExitValue() throws Exception {
        ManagedProcess speaker = start("speaker", "sh", "-c", "echo $WORD; exit 3");

        assertThat(speaker.awaitExit()).isEqualTo(3);
        assertThat(speaker.output()).isEqualTo("hello\n");
    }

    @Test
    void reportsProcessThatEndsBeforeItIsReadyWithItsLastLines() {
        start("broken", "sh", "-c", "echo out of order; exit 3");

        assertThatThrownBy(() -> processes.await("broken is ready", () -> false))
                .isInstanceOf(RunFailure.class)
                .hasMessageContaining("broken has ended by itself")
                .hasMessageContaining("out of order");
    }

    @Test
    void reportsUnknownCpuTimeOfEndedProcess() throws Exception {
        ManagedProcess brief = start("brief", "true");
        brief.awaitExit();

        assertThatThrownBy(brief::cpuTime)
                .isInstanceOf(RunFailure.class)
                .hasMessage("brief: CPU time unknown, because it has ended");
    }

    @Test
    void closeEndsProcesses() {
        ManagedProcess sleeper = start("sleeper", "sleep", "600");
        assertThat(sleeper.isAlive()).isTrue();

        processes.close();

        assertThat(sleeper.isAlive()).isFalse();
        assertThat(processes.directory()).doesNotExist();
    }
}
