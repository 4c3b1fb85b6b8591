package io.weir.dashboard;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.weir.engine.ExchangeOutcomes;
import io.weir.management.BackendView;
import io.weir.management.ConfigurationState;
import io.weir.management.FaultView;
import io.weir.management.GatewayView;
import io.weir.management.RecentEvents;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The document that {@code /actuator/weirstream} sends each second. Durations are in milliseconds, times in
 * milliseconds since 1970.
 *
 * @param at when the snapshot was computed
 * @param startedAt when the gateway started; changes with a restart
 * @param windowSeconds length of the window of {@code recent}
 * @param gateway the gateway as a whole, as in {@code /actuator/weir}
 * @param replicas known gateways that share limits; 1: this one only. All figures are of this one
 * @param backends the backends, by name
 * @param recentEvents the last changes, the latest first; {@code happenings} in JSON
 * @param faults the injected faults that are active, the oldest first
 * @param configuration the configuration in force
 * @param refused the refused configuration in the files; null: the configuration in the files is in force
 * @param vocabulary the kind of each outcome; only in the first event of a connection
 * @param history the last two minutes of each backend; only in the first event of a connection
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record LiveView(
        long at,
        long startedAt,
        int windowSeconds,
        GatewayView.Status gateway,
        int replicas,
        List<BackendSnapshot> backends,
        @JsonProperty("happenings") List<RecentEvents.Event> recentEvents,
        List<FaultView> faults,
        ConfigurationState configuration,
        @JsonInclude(JsonInclude.Include.ALWAYS) @Nullable RefusedConfiguration refused,
        @Nullable Map<String, ExchangeOutcomes.Kind> vocabulary,
        @Nullable Map<String, History> history) {

    /**
     * A backend.
     *
     * @param trouble its worst problem
     * @param recent the exchanges that ended within the window
     * @param now its present state, as in {@code /actuator/weir}
     */
    record BackendSnapshot(String name, Severity trouble, Recent recent, BackendView now) {}

    /**
     * The exchanges that ended within the window.
     *
     * @param lastSecond exchanges that ended in the last second
     * @param lastSecondTrouble exchanges that were shed or failed in the last second
     * @param rate exchanges per second
     * @param troubleShare share of exchanges that were shed or failed; 0 to 1
     * @param outcomes number of exchanges by outcome, in the words of the metrics; without zeros
     * @param times durations of the exchanges that were not shed, from the request's head to the answer's
     *     last byte; null: none
     * @param budgetLeftMs mean time left of the deadline when calls got their permit; null: no calls
     * @param amplification attempts for each call that was sent; null: no calls
     * @param limitChange why the limit in force changed in the last second, in a word of {@link
     *     LimitMovement}; null: it did not
     */
    record Recent(
            long lastSecond,
            long lastSecondTrouble,
            double rate,
            double troubleShare,
            Map<String, Long> outcomes,
            @Nullable Percentiles times,
            @Nullable Double budgetLeftMs,
            @Nullable Double amplification,

            @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable
            String limitChange) {}

    /** The 50th, 90th, 99th and 99.5th percentile. */
    record Percentiles(double p50Ms, double p90Ms, double p99Ms, double p995Ms) {}

    /**
     * The last two minutes, one figure for each second, the oldest first.
     *
     * @param ended exchanges that ended
     * @param trouble exchanges that were shed or failed
     * @param limit the limit of concurrent calls in force; 0 before the first second
     * @param active calls in the backend at the end of the second
     * @param limitChange why the limit changed in the second, in a word of {@link LimitMovement}; empty: it
     *     did not
     */
    record History(
            List<Integer> ended,
            List<Integer> trouble,
            List<Integer> limit,
            List<Integer> active,
            List<String> limitChange) {}

    /** The snapshot as the first event of a connection. */
    LiveView withHistory(Map<String, ExchangeOutcomes.Kind> kinds, Map<String, History> histories) {
        return new LiveView(
                at,
                startedAt,
                windowSeconds,
                gateway,
                replicas,
                backends,
                recentEvents,
                faults,
                configuration,
                refused,
                kinds,
                histories);
    }
}
