package io.weir.fleet;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * The document of {@code GET /actuator/weirfleet}.
 *
 * @param configurationDiffers whether two gateways that answered have different values in their files
 * @param gateways the gateways: this one first, then by address
 */
record FleetView(boolean configurationDiffers, List<Row> gateways) {

    /**
     * A gateway.
     *
     * @param address its address; null: not known
     * @param self whether it is the gateway that answers
     * @param problem the reason why its state is not known; null: it is
     * @param gateway its state; null: not known
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Row(
            @Nullable String address,
            boolean self,
            @Nullable String problem,
            @JsonUnwrapped @Nullable GatewaySummary gateway) {}

    static FleetView of(Members members, GatewaySummary own, List<PeerReply> replies) {
        List<Row> rows = new ArrayList<>();
        rows.add(new Row(ownAddress(members, replies), true, null, own));
        replies.stream().filter(reply -> !reply.isSelf()).map(FleetView::row).forEach(rows::add);
        members.unasked().stream().map(FleetView::row).forEach(rows::add);
        long configurations = rows.stream()
                .flatMap(row -> Stream.ofNullable(row.gateway()))
                .map(gateway -> gateway.configuration().hash())
                .distinct()
                .count();
        return new FleetView(configurations > 1, rows);
    }

    /** This gateway's address; null: not known. */
    static @Nullable String ownAddress(Members members, List<PeerReply> replies) {
        String known = members.own();
        return known != null
                ? known
                : replies.stream()
                        .filter(PeerReply::isSelf)
                        .map(PeerReply::address)
                        .findFirst()
                        .orElse(null);
    }

    private static Row row(PeerReply reply) {
        String problem = reply.problem();
        if (problem != null) {
            return new Row(reply.address(), false, problem, null);
        }
        try {
            return new Row(
                    reply.address(), false, null, JsonMapper.shared().readValue(reply.body(), GatewaySummary.class));
        } catch (JacksonException e) {
            return new Row(reply.address(), false, "answer not understood (expected: the state of a gateway)", null);
        }
    }
}
