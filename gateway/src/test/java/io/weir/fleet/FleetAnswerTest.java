package io.weir.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

class FleetAnswerTest {

    private static final Members MEMBERS = new Members("10.0.0.1", List.of(), List.of());

    @Test
    void isOkIfAllGatewaysTookTheChange() {
        FleetAnswer answer = FleetAnswer.of(
                MEMBERS,
                200,
                List.of(PeerReply.answered("10.0.0.2", 200, "{}"), PeerReply.answered("10.0.0.3", 204, "")));

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.detail()).isNull();
        assertThat(answer.gateways())
                .containsExactly(
                        new FleetAnswer.Line("10.0.0.1", true, 200, null),
                        new FleetAnswer.Line("10.0.0.2", false, 200, null),
                        new FleetAnswer.Line("10.0.0.3", false, 204, null));
    }

    @Test
    void isABadGatewayIfOneDidNotAndNamesIt() {
        FleetAnswer answer = FleetAnswer.of(
                MEMBERS,
                200,
                List.of(
                        PeerReply.answered("10.0.0.2", 200, "{}"),
                        PeerReply.answered("10.0.0.3", 404, "{\"detail\":\"backend: orders\"}"),
                        PeerReply.failed("10.0.0.4", new TimeoutException(), Duration.ofSeconds(10))));

        assertThat(answer.status()).isEqualTo(502);
        assertThat(answer.detail())
                .isEqualTo("2 of 4 gateways did not confirm the change: 10.0.0.3: status 404: backend: orders;"
                        + " 10.0.0.4: no answer within 10 s; it may have taken the change");
        assertThat(answer.gateways().getLast())
                .isEqualTo(new FleetAnswer.Line(
                        "10.0.0.4", false, null, "no answer within 10 s; it may have taken the change"));
    }

    @Test
    void isABadGatewayWhileTheOtherGatewaysAreUnknown() {
        assertThat(FleetAnswer.of(Members.of("gateways", null), 200, List.of()).status())
                .isEqualTo(502);
    }

    @Test
    void isOkIfThisGatewayIsTheFleet() {
        assertThat(FleetAnswer.of(Members.ALONE, 200, List.of()).status()).isEqualTo(200);
    }

    @Test
    void leavesOutItsOwnAnswer() {
        FleetAnswer answer = FleetAnswer.of(
                new Members(null, List.of(), List.of()), 200, List.of(PeerReply.answered("10.0.0.1", 508, "")));

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.gateways()).containsExactly(new FleetAnswer.Line("10.0.0.1", true, 200, null));
    }
}
