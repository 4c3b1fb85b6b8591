package io.weir.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.dashboard.BackendSummary;
import io.weir.management.ConfigurationState;
import java.util.List;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

class FleetViewTest {

    private static final Members MEMBERS = new Members("10.0.0.1", List.of(), List.of());

    private final GatewaySummary own = summary("aaaaaaaaaaaa");

    private static GatewaySummary summary(String hash) {
        return new GatewaySummary(
                "0.1.0",
                "2026-01-01T00:00:00Z",
                "serving",
                new ConfigurationState(hash, 0),
                List.of(new BackendSummary("orders", "closed", "calm", 0, 8, 1, 2.5)));
    }

    private static PeerReply reply(String address, GatewaySummary summary) {
        return PeerReply.answered(address, 200, JsonMapper.shared().writeValueAsString(summary));
    }

    @Test
    void hasARowForEachGatewayThisOneFirst() {
        FleetView view = FleetView.of(MEMBERS, own, List.of(reply("10.0.0.2", own)));

        assertThat(view.configurationDiffers()).isFalse();
        assertThat(view.gateways())
                .containsExactly(
                        new FleetView.Row("10.0.0.1", true, null, own),
                        new FleetView.Row("10.0.0.2", false, null, own));
    }

    @Test
    void showsThatConfigurationsDiffer() {
        assertThat(FleetView.of(MEMBERS, own, List.of(reply("10.0.0.2", summary("bbbbbbbbbbbb"))))
                        .configurationDiffers())
                .isTrue();
    }

    @Test
    void saysWhyTheStateOfAGatewayIsNotKnown() {
        Members members =
                new Members("10.0.0.1", List.of(), List.of(PeerReply.unasked("10.0.0.9", "more than 256 gateways")));

        FleetView view = FleetView.of(
                members,
                own,
                List.of(
                        PeerReply.unasked("10.0.0.2", "connection refused"),
                        PeerReply.answered("10.0.0.3", 401, ""),
                        PeerReply.answered("10.0.0.4", 200, "{}"),
                        PeerReply.answered("10.0.0.5", 200, "<html>")));

        assertThat(view.gateways().subList(1, 6))
                .extracting(FleetView.Row::problem)
                .containsExactly(
                        "connection refused",
                        "status 401",
                        "answer not understood (expected: the state of a gateway)",
                        "answer not understood (expected: the state of a gateway)",
                        "more than 256 gateways");
        assertThat(view.configurationDiffers()).isFalse();
    }

    @Test
    void learnsItsOwnAddressFromItsOwnAnswer() {
        FleetView view = FleetView.of(
                new Members(null, List.of(), List.of()),
                own,
                List.of(reply("10.0.0.2", own), PeerReply.answered("10.0.0.3", 508, "")));

        assertThat(view.gateways()).extracting(FleetView.Row::address).containsExactly("10.0.0.3", "10.0.0.2");
    }

    @Test
    void isOneFlatObjectForEachGatewayInJson() {
        assertThat(JsonMapper.shared()
                        .writeValueAsString(
                                FleetView.of(Members.ALONE, own, List.of(PeerReply.unasked("10.0.0.2", "why")))))
                .isEqualTo("""
                        {"configurationDiffers":false,"gateways":[\
                        {"self":true,"version":"0.1.0","startedAt":"2026-01-01T00:00:00Z","phase":"serving",\
                        "configuration":{"hash":"aaaaaaaaaaaa","operatorValues":0},\
                        "backends":[{"name":"orders","state":"closed","trouble":"calm","score":0,"limit":8,"inFlight":1,\
                        "answersPerSecond":2.5}]},\
                        {"address":"10.0.0.2","self":false,"problem":"why"}]}""");
    }
}
