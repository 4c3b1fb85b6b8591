package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class WrkTest {

    private static final String PRINTED = """
            Running 5s test @ http://127.0.0.1:1/1
              1 threads and 32 connections
              Thread Stats   Avg      Stdev     Max   +/- Stdev
                Latency     1.05ms  410.00us  12.00ms   90.00%%
                Req/Sec    24.50k     1.20k   26.00k    80.00%%
              122500 requests in 5.00s, 9.93MB read
            %sRequests/sec:  24500.25
            Transfer/sec:      1.99MB
            """;

    @Test
    void parsesOutput() {
        assertThat(Wrk.parse(PRINTED.formatted(""))).isEqualTo(new Wrk(122_500, 0, 24_500.25));
        assertThat(Wrk.parse(PRINTED.formatted("  Non-2xx or 3xx responses: 7\n")))
                .isEqualTo(new Wrk(122_500, 7, 24_500.25));
    }

    @Test
    void refusesResultWithUnansweredRequests() {
        assertThatThrownBy(
                        () -> Wrk.parse(PRINTED.formatted("  Socket errors: connect 0, read 3, write 0, timeout 0\n")))
                .hasMessageContaining("read 3");
        assertThatThrownBy(() -> Wrk.parse("unable to connect to 127.0.0.1:1 Connection refused"))
                .hasMessageContaining("Connection refused");
    }
}
