package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.netty.ReactorNetty;

/** The defaults of Reactor Netty that the gateway replaces. */
@Isolated("sets system properties")
class ReactorNettyDefaultsTest {

    private static final List<String> NAMES =
            List.of(ReactorNetty.IO_WORKER_COUNT, ReactorNetty.REACTOR_NETTY_SEND_MAX_PREFETCH_SIZE);

    private final Properties before = new Properties();

    @BeforeEach
    void clear() {
        for (String name : NAMES) {
            String value = System.clearProperty(name);
            if (value != null) {
                before.setProperty(name, value);
            }
        }
    }

    @AfterEach
    void restore() {
        NAMES.forEach(System::clearProperty);
        System.getProperties().putAll(before);
    }

    @ParameterizedTest
    @CsvSource({"1, 2", "2, 2", "3, 3", "64, 64"})
    void areOneEventLoopPerProcessorAndAtLeastTwo(int processors, String loops) {
        ReactorNettyDefaults.set(processors);
        assertThat(System.getProperty(ReactorNetty.IO_WORKER_COUNT)).isEqualTo(loops);
    }

    @Test
    void boundTheUnsentBuffersOfABody() {
        ReactorNettyDefaults.set(2);
        assertThat(System.getProperty(ReactorNetty.REACTOR_NETTY_SEND_MAX_PREFETCH_SIZE))
                .isEqualTo("64");
    }

    @Test
    void keepTheValuesOfTheOperator() {
        NAMES.forEach(name -> System.setProperty(name, "7"));
        ReactorNettyDefaults.set(2);
        assertThat(NAMES)
                .allSatisfy(name -> assertThat(System.getProperty(name)).isEqualTo("7"));
    }
}
