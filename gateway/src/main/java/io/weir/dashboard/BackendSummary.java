package io.weir.dashboard;

import io.weir.engine.ExchangeOutcomes;

/**
 * The state of a backend in short.
 *
 * @param name the backend's name
 * @param state the state of its breaker, such as {@code closed} or {@code forced-open}
 * @param trouble its worst problem, as on the dashboard; {@code calm}: none
 * @param score the severity of the problem; 0: none; 100: no call is served
 * @param limit the limit of concurrent calls in force
 * @param inFlight calls in the backend
 * @param answersPerSecond answers of the backend with any status, per second, over the last ten seconds
 */
public record BackendSummary(
        String name, String state, String trouble, int score, int limit, int inFlight, double answersPerSecond) {

    private static final double DECIMALS = 10;

    static BackendSummary of(LiveView.BackendSnapshot backend) {
        long answers = backend.recent().outcomes().entrySet().stream()
                .filter(outcome -> ExchangeOutcomes.isAnswerOfBackend(outcome.getKey()))
                .mapToLong(outcome -> outcome.getValue())
                .sum();
        return new BackendSummary(
                backend.name(),
                backend.now().breaker().state(),
                backend.trouble().word(),
                backend.trouble().score(),
                backend.now().calls().limit(),
                backend.now().calls().active(),
                Math.round(DECIMALS * answers / SlidingWindow.SECONDS) / DECIMALS);
    }
}
