package io.weir.dashboard;

import io.weir.management.BackendView;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Builds the view of a backend, without a backend: at first closed, without calls, with a fixed limit of 10.
 */
final class TestViews {

    private static final String START = "2026-01-01T00:00:00Z";

    private String uri = "http://orders";
    private int active;
    private int waiting;
    private BackendView.BreakerView breaker = breakerView("closed", 0, null);
    private BackendView.LimitView limit = fixedView(10);
    private BackendView.@Nullable Law law;
    private @Nullable List<BackendView.InstanceView> instances;
    private @Nullable List<BackendView.OpenRoute> openRoutes;

    TestViews uri(String newUri) {
        uri = newUri;
        return this;
    }

    TestViews calls(int newActive, int newWaiting) {
        active = newActive;
        waiting = newWaiting;
        return this;
    }

    TestViews breaker(String state, int overdue) {
        breaker = breakerView(state, overdue, null);
        return this;
    }

    TestViews instances(@Nullable List<BackendView.InstanceView> newInstances) {
        instances = newInstances;
        return this;
    }

    TestViews openRoute(String route) {
        openRoutes = List.of(new BackendView.OpenRoute(route, breakerView("open", 0, null)));
        return this;
    }

    TestViews limit(BackendView.LimitView newLimit) {
        limit = newLimit;
        return this;
    }

    TestViews fixed(int number) {
        return limit(fixedView(number));
    }

    TestViews auto(int own, int min, int max, double utilisation) {
        return limit(
                new BackendView.LimitView(own, "auto", own, null, min, max, 20.0, 50.0, utilisation, "growth", START));
    }

    /** Calls of 50 ms each. */
    TestViews arriving(double perSecond, int suggestedLimit) {
        law = new BackendView.Law(
                perSecond, 50, 2, perSecond / 20, 0, 0.04, 40, limit.inForce(), suggestedLimit, 1_000);
        return this;
    }

    BackendView view() {
        return new BackendView(
                uri,
                800,
                new BackendView.Calls(active, limit.inForce(), waiting, Map.of(), 10, 100),
                limit,
                new BackendView.Streams(0, 256),
                new BackendView.InFlight(active + waiting, 200),
                breaker,
                new BackendView.Connections(active, 2, 0, 64),
                null,
                law,
                0,
                Map.of(),
                null,
                instances,
                null,
                openRoutes,
                List.of());
    }

    static BackendView.LimitView fixedView(int number) {
        return new BackendView.LimitView(
                number, "fixed", number, null, number, number, null, null, null, "fixed", null);
    }

    /** An adaptive limit. */
    static BackendView.LimitView autoView(int inForce, String binds, int own, String reason, String changedAt) {
        return new BackendView.LimitView(inForce, binds, own, null, 2, 100, 20.0, 50.0, 0.5, reason, changedAt);
    }

    static BackendView.InstanceView instance(String uri, String state) {
        return instance(uri, false, breakerView(state, 0, null));
    }

    /** A backup; with the time for which it has asked to be left alone. */
    static BackendView.InstanceView backup(String uri, String state, @Nullable Double pushbackMs) {
        return instance(uri, true, breakerView(state, 0, pushbackMs));
    }

    private static BackendView.InstanceView instance(String uri, boolean isBackup, BackendView.BreakerView breaker) {
        return new BackendView.InstanceView(
                uri, 1, isBackup, 0, null, null, 0, 0, 0, breaker, null, new BackendView.Connections(0, 0, 0, 1));
    }

    private static BackendView.BreakerView breakerView(String state, int overdue, @Nullable Double pushbackMs) {
        Double nextProbe = state.equals("open") ? 80.0 : null;
        return new BackendView.BreakerView(
                state,
                state.startsWith("forced"),
                true,
                START,
                "for a test",
                null,
                null,
                overdue,
                0,
                nextProbe,
                pushbackMs);
    }
}
