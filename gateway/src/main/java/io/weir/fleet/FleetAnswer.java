package io.weir.fleet;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a change for all gateways, which this gateway has taken.
 *
 * @param status 200: all gateways have taken the change; 502: this one has, and at least one other has not
 * @param detail the gateways that have not taken the change, in one sentence; null: all have
 * @param gateways the gateways: this one first, then by address
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record FleetAnswer(int status, @Nullable String detail, List<Line> gateways) {

    private static final int OK = 200;
    private static final int NOT_ALL = 502;

    /**
     * A gateway.
     *
     * @param address its address; null: not known
     * @param self whether it is the gateway that answers
     * @param status the status of its answer; null: there is none
     * @param problem the reason why it has not taken the change; null: it has
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Line(
            @Nullable String address,
            boolean self,
            @Nullable Integer status,
            @Nullable String problem) {}

    static FleetAnswer of(Members members, int ownStatus, List<PeerReply> replies) {
        List<Line> lines = new ArrayList<>();
        lines.add(new Line(FleetView.ownAddress(members, replies), true, ownStatus, null));
        replies.stream().filter(reply -> !reply.isSelf()).map(FleetAnswer::line).forEach(lines::add);
        members.unasked().stream().map(FleetAnswer::line).forEach(lines::add);
        List<Line> missing =
                lines.stream().filter(line -> line.problem() != null).toList();
        return missing.isEmpty()
                ? new FleetAnswer(OK, null, lines)
                : new FleetAnswer(NOT_ALL, sentence(missing, lines.size()), lines);
    }

    private static Line line(PeerReply reply) {
        String problem = reply.problem();
        return new Line(
                reply.address(),
                false,
                reply.status() == 0 ? null : reply.status(),
                problem == null || reply.isCertain() ? problem : problem + "; it may have taken the change");
    }

    private static String sentence(List<Line> missing, int gateways) {
        return missing.size() + " of " + gateways + " gateways did not confirm the change: "
                + missing.stream()
                        .map(line -> line.address() + ": " + line.problem())
                        .collect(Collectors.joining("; "));
    }
}
