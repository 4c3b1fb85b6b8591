package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class HostTest {

    @Test
    @EnabledOnOs(OS.LINUX)
    void findsFreePortsOutsideTheRangeOfOutgoingConnections() throws Exception {
        Set<Integer> ports = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            ports.add(Host.freePort());
        }

        assertThat(ports).hasSize(100).allMatch(port -> port < Host.firstOutgoingPort());
        try (ServerSocket listening = new ServerSocket(ports.iterator().next())) {
            assertThat(listening.isBound()).isTrue();
        }
    }
}
