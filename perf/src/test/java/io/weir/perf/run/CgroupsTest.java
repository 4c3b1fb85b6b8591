package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class CgroupsTest {

    @Test
    void givesPriorityToTheGenerator() throws IOException {
        Path members;
        try (Cgroups cgroups = new Cgroups()) {
            assumeTrue(cgroups.available(), "this user may create cgroups");
            members = cgroups.group("generator", 1, true);

            assertThat(weight(members)).isEqualTo(10 * weight(cgroups.group("gateway", 1, false)));
        }
        assertThat(members).doesNotExist();
    }

    /** The weight of the group with that file of members. */
    private static long weight(Path members) throws IOException {
        Path unified = members.resolveSibling("cpu.weight");
        Path file = Files.exists(unified) ? unified : members.resolveSibling("cpu.shares");
        return Long.parseLong(Files.readString(file).strip());
    }
}
