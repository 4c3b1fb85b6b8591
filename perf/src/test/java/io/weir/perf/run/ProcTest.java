package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
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
}
