package io.weir.health;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** A backend with several instances, in virtual time. The instances are addressed by their index. */
final class HealthGroupFixture {

    static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);
    static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    static final int UNLIMITED = Integer.MAX_VALUE;

    /** The duration of a call that is not slow. */
    static final long FAST = MILLIS;

    /** The duration of a call that is just slow. */
    static final long SLOW = 400 * MILLIS;

    long now = 1_000 * SECOND;
    int limit = 60;
    int givenBack;
    int opened;
    Runnable onChange = () -> {};
    final Health backend;
    final List<Health> members;
    final HealthGroup group;
    private final HealthSettings settings;

    HealthGroupFixture(HealthSettings settings, int maxCallsEach, double... shares) {
        this.settings = settings;
        this.backend = new Health("orders", settings, new Permits(), () -> now, () -> 0.5);
        this.members = IntStream.range(0, shares.length)
                .mapToObj(i -> instance("orders-" + i))
                .toList();
        this.group = new HealthGroup(backend, members, shares, maxCallsEach, () -> onChange.run());
        group.takeOver();
        backend.whenOpened(() -> opened++);
    }

    static BackendFailure failure() {
        return new BackendFailure("status-500");
    }

    /** A backend with the default settings, whose instances have equal shares. */
    static HealthGroupFixture of(int instances) {
        return of(instances, settings(20, 5, 100));
    }

    static HealthGroupFixture of(int instances, HealthSettings settings) {
        return new HealthGroupFixture(settings, UNLIMITED, equalShares(instances));
    }

    static double[] equalShares(int instances) {
        double[] shares = new double[instances];
        Arrays.fill(shares, 1.0 / instances);
        return shares;
    }

    static HealthSettings settings(int minimumCalls, int stallCalls, float slowRate) {
        return new HealthSettings(
                new CircuitBreakerProperties(
                        50,
                        slowRate,
                        Duration.ofNanos(SLOW),
                        SlidingWindowType.COUNT_BASED,
                        100,
                        minimumCalls,
                        stallCalls,
                        null,
                        5,
                        Set.of(),
                        Set.of(),
                        true),
                new RecoveryProperties(null, Duration.ofMillis(100), 5, Duration.ofSeconds(30), null),
                2 * SECOND);
    }

    /** An instance that belongs to no group yet. */
    Health instance(String address) {
        return Health.ofInstance("orders", address, settings, new Permits(), () -> now, () -> 0.5);
    }

    Health member(int index) {
        return members.get(index);
    }

    State state(int index) {
        return member(index).state();
    }

    List<State> states() {
        return members.stream().map(Health::state).toList();
    }

    // ---------------------------------------------------------------- calls

    Generation enter(int index) {
        return Objects.requireNonNull(member(index).enter(now, true), "refused");
    }

    List<Generation> enter(int index, int calls) {
        List<Generation> entered = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            entered.add(enter(index));
        }
        return entered;
    }

    /** Calls in their order. S: a good answer. L: a good answer that is slow. F: a failure. */
    void play(int index, String outcomes) {
        for (int i = 0; i < outcomes.length(); i++) {
            Generation call = enter(index);
            switch (outcomes.charAt(i)) {
                case 'S' -> answer(index, call, FAST);
                case 'L' -> answer(index, call, SLOW);
                default -> {
                    now += FAST;
                    member(index).failed(call, FAST, failure(), now);
                }
            }
            call.leave();
        }
    }

    private void answer(int index, Generation call, long backendNanos) {
        now += backendNanos;
        member(index).answered(call, now);
        member(index).succeeded(call, backendNanos, now);
    }

    void succeed(int index, int calls) {
        play(index, "S".repeat(calls));
    }

    void fail(int index, int calls) {
        play(index, "F".repeat(calls));
    }

    /** A call that was sent at this moment has waited for the stall time. */
    void stall(int index, Generation call, long sentAt) {
        member(index).stalled(call, sentAt, sentAt, sentAt - 1, now);
    }

    /** The instance opens by its own calls, and a probe is answered. */
    void recover(int index) {
        member(index).operator().openNow();
        member(index).operator().halfOpenNow();
    }

    private final class Permits implements Health.Permits {

        @Override
        public int limit() {
            return limit;
        }

        @Override
        public void limitChanged() {}

        @Override
        public void giveBack(int calls) {
            givenBack += calls;
        }
    }
}
