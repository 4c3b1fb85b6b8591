package io.weir.dashboard;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.weir.engine.ExchangeOutcomes;
import io.weir.management.BackendView;
import io.weir.management.GatewayView;
import io.weir.management.RecentEvents.Happening;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The document that {@code /actuator/weirstream} sends each second. Times are in milliseconds, instants in milliseconds since 1970.
 *
 * @param at when it was computed
 * @param startedAt when the gateway was started: another one after a restart
 * @param windowSeconds what {@code recent} is about
 * @param gateway the gateway as a whole, as in {@code /actuator/weir}
 * @param replicas gateways that share their limits, as far as is known; 1: this one. The figures are this one's
 * @param backends the backends, by name
 * @param happenings what changed of late, the latest first
 * @param refused what is written in the files and not in force; null: what is written is
 * @param vocabulary each outcome's word, and whose doing it is; only in the first event of a connection
 * @param history the last two minutes of each backend; only in the first event of a connection
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record LiveView(
        long at,
        long startedAt,
        int windowSeconds,
        GatewayView.Whole gateway,
        int replicas,
        List<OfBackend> backends,
        List<Happening> happenings,
        @JsonInclude(JsonInclude.Include.ALWAYS) @Nullable RefusedFile refused,
        @Nullable Map<String, ExchangeOutcomes.Kind> vocabulary,
        @Nullable Map<String, Past> history) {

    /**
     * A backend.
     *
     * @param trouble how much is wrong with it
     * @param recent what came to an end in the last seconds
     * @param now its state, as in {@code /actuator/weir}
     */
    record OfBackend(String name, Trouble trouble, Recent recent, BackendView now) {}

    /**
     * What came to an end within the window.
     *
     * @param lastSecond exchanges that ended in the last second
     * @param lastSecondTrouble those of them that were shed or failed
     * @param rate exchanges per second
     * @param troubleShare share of them that were shed or failed; 0 to 1
     * @param outcomes how many by outcome, in the words of the metrics; none that is zero
     * @param times the time that exchanges took that were not shed, from the request's head to the answer's last byte
     * @param budgetLeftMs mean budget that calls had left when they got their permit; null: there were none
     */
    record Recent(
            long lastSecond,
            long lastSecondTrouble,
            double rate,
            double troubleShare,
            Map<String, Long> outcomes,
            @Nullable Percentiles times,
            @Nullable Double budgetLeftMs) {}

    /** Times that 50, 90, 99 and 99.5 percent were not above. */
    record Percentiles(double p50Ms, double p90Ms, double p99Ms, double p995Ms) {}

    /**
     * The last two minutes, a figure for each second, the oldest first.
     *
     * @param ended exchanges that ended
     * @param trouble those of them that were shed or failed
     */
    record Past(List<Integer> ended, List<Integer> trouble) {}

    /** The same for a viewer who has seen nothing yet. */
    LiveView first(Map<String, ExchangeOutcomes.Kind> words, Map<String, Past> past) {
        return new LiveView(
                at, startedAt, windowSeconds, gateway, replicas, backends, happenings, refused, words, past);
    }
}
