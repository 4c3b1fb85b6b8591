package io.weir.sim.fanout;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.sim.Simulator;
import io.weir.sim.stack.Stack;
import java.net.http.HttpResponse;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The called services are the simulator's own delays of 200 ms. */
@ParameterizedClass(name = "{0}")
@EnumSource(
        value = Stack.class,
        names = {"MVC_JDBC", "WEBFLUX_R2DBC"})
class FanOutIT {

    private final Simulator sim;

    FanOutIT(Stack stack) {
        this.sim = Simulator.of(stack);
    }

    @ParameterizedTest
    @ValueSource(strings = {"platform", "virtual", "webclient", "coroutines"})
    void takesTheSumSequentiallyAndTheMaximumInParallel(String way) throws Exception {
        sim.get("/fanout/" + way); // The first call loads classes and opens connections.

        assertThat(millis(sim.get("/fanout/" + way + "?parallel=false"), way, false))
                .isGreaterThanOrEqualTo(400L);
        // Repeated, since another process may use the core meanwhile. Sequential calls could never pass.
        long parallel = Long.MAX_VALUE;
        for (int i = 0; i < 10 && parallel >= 400; i++) {
            parallel = millis(sim.get("/fanout/" + way), way, true);
        }
        assertThat(parallel).isBetween(200L, 399L);
    }

    @Test
    void refusesAnUnknownWay() throws Exception {
        HttpResponse<String> answer = sim.get("/fanout/pigeon");

        assertThat(answer.statusCode()).isEqualTo(404);
        assertThat(answer.body()).contains("pigeon (expected: one of [platform, virtual, webclient, coroutines])");
        assertThat(sim.get("/fanout/virtual?parallel=maybe").statusCode()).isEqualTo(400);
    }

    @Test
    void unreachableServiceIsAnswered503WithTheCause() throws Exception {
        try (Simulator alone = Simulator.start(
                Stack.WEBFLUX_R2DBC, "--sim.fanout.services=http://127.0.0.1:1/a,http://127.0.0.1:1/b")) {
            for (String way : new String[] {"platform", "virtual", "webclient", "coroutines"}) {
                HttpResponse<String> answer = alone.get("/fanout/" + way);
                assertThat(answer.statusCode()).as(way).isEqualTo(503);
                assertThat(answer.body()).contains("A service failed", "Connect");
            }
        }
    }

    private static long millis(HttpResponse<String> answer, String way, boolean parallel) {
        Matcher asked = Pattern.compile("\\{\"way\":\"" + way + "\",\"parallel\":" + parallel
                        + ",\"ms\":(\\d+),\"answers\":\\[\"\\{\\\\\"ms\\\\\":200}\",\"\\{\\\\\"ms\\\\\":200}\"]}")
                .matcher(answer.body());
        assertThat(asked.matches()).as(answer.body()).isTrue();
        return Long.parseLong(asked.group(1));
    }
}
