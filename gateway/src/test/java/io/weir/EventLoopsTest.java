package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.netty.ReactorNetty;

/** The number of event loops. */
@Isolated("sets a system property")
class EventLoopsTest {

    private @Nullable String before;

    @BeforeEach
    void clear() {
        before = System.clearProperty(ReactorNetty.IO_WORKER_COUNT);
    }

    @AfterEach
    void restore() {
        if (before == null) {
            System.clearProperty(ReactorNetty.IO_WORKER_COUNT);
        } else {
            System.setProperty(ReactorNetty.IO_WORKER_COUNT, before);
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 2", "2, 2", "3, 3", "64, 64"})
    void choosesOnePerProcessorAndAtLeastTwo(int processors, String loops) {
        EventLoops.choose(processors);
        assertThat(System.getProperty(ReactorNetty.IO_WORKER_COUNT)).isEqualTo(loops);
    }

    @Test
    void keepsTheNumberOfTheOperator() {
        System.setProperty(ReactorNetty.IO_WORKER_COUNT, "7");
        EventLoops.choose(2);
        assertThat(System.getProperty(ReactorNetty.IO_WORKER_COUNT)).isEqualTo("7");
    }
}
