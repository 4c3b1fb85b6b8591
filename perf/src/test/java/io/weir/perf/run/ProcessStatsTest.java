package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class ProcessStatsTest {

    @Test
    void parsesRangesOfCores() {
        assertThat(Host.range("0-2,5,7-8")).containsExactly(0, 1, 2, 5, 7, 8);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void readsThisProcess() throws Exception {
        long pid = ProcessHandle.current().pid();
        ProcessStats before =
                ProcessStats.of(pid, ProcessStats.establishedSockets()).orElseThrow();
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket one = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket other = server.accept()) {
            ProcessStats now =
                    ProcessStats.of(pid, ProcessStats.establishedSockets()).orElseThrow();

            assertThat(one.isConnected() && other.isConnected()).isTrue();
            assertThat(now.connections()).isGreaterThanOrEqualTo(2);
            assertThat(now.cpuMicros()).isPositive().isGreaterThanOrEqualTo(before.cpuMicros());
            assertThat(now.threads()).isGreaterThan(1);
            assertThat(now.rssBytes()).isGreaterThan(1_000_000);
        }
    }

    @Test
    void isEmptyWithoutProcess() {
        assertThat(ProcessStats.of(Long.MAX_VALUE, ProcessStats.establishedSockets()))
                .isEmpty();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void sumsDescendants() throws Exception {
        try (Processes processes = Processes.unlimited()) {
            ManagedProcess parent =
                    processes.start("parent", List.of("sh", "-c", "sleep 600 & echo started; wait"), Map.of());
            processes.await("it has a descendant", () -> parent.output().contains("started"));
            processes.await(
                    "the descendant runs its own program",
                    () -> ProcessHandle.of(parent.pid()).stream()
                            .flatMap(ProcessHandle::children)
                            .anyMatch(child -> child.info().command().orElse("").endsWith("sleep")));
            ProcessStats alone = ProcessStats.of(parent.pid(), Set.of()).orElseThrow();
            ProcessStats all = ProcessStats.ofTree(parent.pid(), Set.of()).orElseThrow();

            assertThat(all.threads()).isEqualTo(2);
            long other = ProcessHandle.of(parent.pid()).stream()
                    .flatMap(ProcessHandle::children)
                    .mapToLong(ProcessHandle::pid)
                    .findFirst()
                    .orElseThrow();
            assertThat(all.rssBytes())
                    .as("shared pages count once")
                    .isPositive()
                    .isLessThan(alone.rssBytes()
                            + ProcessStats.of(other, Set.of()).orElseThrow().rssBytes());
            assertThat(parent.pssBytes()).isPositive().isLessThan(parent.rssBytes());
            ProcessHandle.of(parent.pid()).stream()
                    .flatMap(ProcessHandle::children)
                    .forEach(ProcessHandle::destroy);
        }
    }
}
