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

class ProcTest {

    @Test
    void readsRangesOfCores() {
        assertThat(Proc.range("0-2,5,7-8")).containsExactly(0, 1, 2, 5, 7, 8);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void seesThisProcess() throws Exception {
        long pid = ProcessHandle.current().pid();
        Proc before = Proc.of(pid, Proc.established()).orElseThrow();
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket one = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket other = server.accept()) {
            Proc now = Proc.of(pid, Proc.established()).orElseThrow();

            assertThat(one.isConnected() && other.isConnected()).isTrue();
            assertThat(now.connections()).isGreaterThanOrEqualTo(2);
            assertThat(now.cpuMicros()).isPositive().isGreaterThanOrEqualTo(before.cpuMicros());
            assertThat(now.threads()).isGreaterThan(1);
            assertThat(now.rssBytes()).isGreaterThan(1_000_000);
        }
    }

    @Test
    void seesNothingOfAProcessThatIsNotThere() {
        assertThat(Proc.of(Long.MAX_VALUE, Proc.established())).isEmpty();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void countsWhatAProcessHasStartedWithIt() throws Exception {
        try (Child parent = Child.start("parent", List.of("sh", "-c", "sleep 600 & echo started; wait"), Map.of())) {
            parent.await("has started another", () -> parent.said().contains("started"));
            Proc alone = Proc.of(parent.pid(), Set.of()).orElseThrow();
            Proc all = Proc.ofAll(parent.pid(), Set.of()).orElseThrow();

            assertThat(all.threads()).isEqualTo(2);
            long other = ProcessHandle.of(parent.pid()).stream()
                    .flatMap(ProcessHandle::children)
                    .mapToLong(ProcessHandle::pid)
                    .findFirst()
                    .orElseThrow();
            assertThat(all.rssBytes())
                    .as("what they share counts once")
                    .isPositive()
                    .isLessThan(alone.rssBytes()
                            + Proc.of(other, Set.of()).orElseThrow().rssBytes());
            Proc.Memory memory = Proc.Memory.of(parent.pid());
            assertThat(memory.pssBytes()).isPositive().isLessThan(memory.rssBytes());
            ProcessHandle.of(parent.pid()).stream()
                    .flatMap(ProcessHandle::children)
                    .forEach(ProcessHandle::destroy);
        }
    }
}
