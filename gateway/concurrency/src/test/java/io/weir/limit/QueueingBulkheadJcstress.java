package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.openjdk.jcstress.JCStress;
import org.openjdk.jcstress.Options;

/** Runs the collisions in {@code src/jcstress}; a collision fails if a forbidden outcome occurs. */
class QueueingBulkheadJcstress {

    /** One JVM for each collision, for 100 ms, without touching its heap first. */
    private static final List<String> BRIEF = List.of(
            "-m",
            "quick",
            "-sc",
            "false",
            "-iters",
            "1",
            "-time",
            "100",
            "-pth",
            "false",
            "-jvmArgs",
            "-Xmx256m -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED");

    /** Longer, in each JVM mode and each combination of compilers. */
    private static final List<String> LONG = List.of("-m", "default", "-time", "500", "-fsm", "1");

    @Test
    void noCollisionHasAForbiddenOutcome() throws Exception {
        List<String> arguments = new ArrayList<>(Boolean.getBoolean("concurrency.long") ? LONG : BRIEF);
        arguments.addAll(List.of("-r", "results"));
        Options options = new Options(arguments.toArray(String[]::new));
        assertThat(options.parse()).as("options are valid").isTrue();
        JCStress jcstress = new JCStress(options);
        assertThat(jcstress.getTests()).isNotEmpty();

        jcstress.run();
    }
}
