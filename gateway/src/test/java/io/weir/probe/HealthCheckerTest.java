package io.weir.probe;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.channel.embedded.EmbeddedChannel;
import io.weir.health.Health;
import io.weir.health.HealthCheckProperties;
import io.weir.health.HealthChecks.Verdict;
import io.weir.health.HealthSettings;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.probe.ProbeRequest.Outcome;
import io.weir.testing.TestHealth;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import reactor.netty.resources.LoopResources;

/** When instances are checked, and which results count, in virtual time and without a network. */
class HealthCheckerTest {

    static final Pool POOL = new Pool(
            "orders",
            URI.create("http://orders:8080"),
            UpstreamProtocol.HTTP1,
            new ConnectionProperties(Duration.ofMillis(250), Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
            1,
            null,
            LoopResources.create("checks", 1, true));
    private static final int INSTANCES = 3;
    private static final HealthCheckProperties CHECK =
            HealthCheckProperties.ofPath("/up", Duration.ofSeconds(2), Duration.ofSeconds(1), 2, 3);

    /** A check that was sent. */
    private final class Sent {
        final Instance instance;
        final Outcome outcome;
        final long at = now();
        boolean isGivenUp;

        Sent(Instance instance, Outcome outcome) {
            this.instance = instance;
            this.outcome = outcome;
        }
    }

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Random random = new Random(1);
    private final List<Instance> instances = new ArrayList<>();
    private final List<Sent> sent = new ArrayList<>();
    /** The reaction of each instance to a check. */
    private final List<Consumer<Outcome>> reactions = new ArrayList<>();

    private final HealthChecker checker;

    HealthCheckerTest() {
        channel.freezeTime();
        channel.advanceTimeBy(1, TimeUnit.HOURS);
        HealthSettings settings = TestHealth.settings(Duration.ofSeconds(1), 20, Duration.ofMillis(100));
        Health health = TestHealth.of(settings, this::now);
        for (int i = 0; i < INSTANCES; i++) {
            String address = "http://orders-" + i + ":8080";
            Health own = Health.ofInstance(
                    "orders", address, settings, TestHealth.unlimited(), this::now, random::nextDouble);
            instances.add(new Instance(URI.create(address), 1, POOL, own));
            reactions.add(Outcome::good);
        }
        Instances.of(instances, health, LoadBalancingProperties.defaults(), random::nextInt, opened -> {})
                .takeOver();
        checker = checker(CHECK);
        checker.start();
    }

    private HealthChecker checker(HealthCheckProperties properties) {
        return HealthChecker.ofSenders(
                instances,
                properties,
                null,
                new RepeatedCheck.Timing(channel.eventLoop(), this::now, random::nextDouble),
                this::send,
                (instance, answer) -> () -> {});
    }

    private Runnable send(Instance instance, ProbeRequest request, Outcome outcome) {
        Sent check = new Sent(instance, outcome);
        sent.add(check);
        reactions.get(instances.indexOf(instance)).accept(outcome);
        return () -> check.isGivenUp = true;
    }

    private long now() {
        return channel.eventLoop().ticker().nanoTime();
    }

    /** Runs all events of this time, each at its own moment. */
    private void advance(Duration time) {
        long end = now() + time.toNanos();
        while (true) {
            channel.runPendingTasks();
            long next = channel.runScheduledPendingTasks();
            long left = end - now();
            channel.advanceTimeBy(next < 0 || next > left ? left : next, TimeUnit.NANOSECONDS);
            if (next < 0 || next > left) {
                return;
            }
        }
    }

    /** The gateway does nothing for this time; then everything that was due runs at once. */
    private void pause(Duration time) {
        channel.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
        channel.runPendingTasks();
    }

    private void react(int index, Consumer<Outcome> reaction) {
        reactions.set(index, reaction);
    }

    private State state(int index) {
        return instances.get(index).health().state();
    }

    private Verdict verdict(int index) {
        return Objects.requireNonNull(instances.get(index).health().check()).verdict();
    }

    private List<Sent> sentTo(int index) {
        return sent.stream()
                .filter(check -> check.instance == instances.get(index))
                .toList();
    }

    @Test
    void checksEachInstanceOncePerIntervalWithJitter() {
        advance(Duration.ofSeconds(200));
        for (int i = 0; i < INSTANCES; i++) {
            List<Sent> checks = sentTo(i);
            assertThat(checks).hasSizeBetween(95, 105);
            for (int j = 1; j < checks.size(); j++) {
                assertThat(Duration.ofNanos(checks.get(j).at - checks.get(j - 1).at))
                        .isBetween(Duration.ofMillis(1800), Duration.ofMillis(2200));
            }
            assertThat(verdict(i)).isEqualTo(Verdict.PASSING);
            assertThat(state(i)).isEqualTo(State.CLOSED);
        }
        assertThat(sent.stream().map(check -> check.at).distinct()).as("spread").hasSizeGreaterThan(250);
    }

    @Test
    void takesOutAnInstanceThatDoesNotAnswerAndHasOneCheckAtATime() {
        advance(Duration.ofSeconds(10));
        react(0, outcome -> {});
        sent.clear();
        advance(Duration.ofSeconds(9));

        assertThat(state(0)).isEqualTo(State.OPEN);
        assertThat(instances.get(0).health().why()).contains("gave no answer for 1.0 s, 3 times in a row");
        List<Sent> checks = sentTo(0);
        assertThat(checks.subList(0, checks.size() - 1)).allMatch(check -> check.isGivenUp);
        assertThat(checks).hasSizeBetween(3, 6);

        react(0, Outcome::good);
        advance(Duration.ofSeconds(6));
        assertThat(instances.get(0).health().isIn()).isTrue();
    }

    @Test
    void aLateAnswerChangesNothing() {
        react(0, outcome -> {});
        advance(Duration.ofSeconds(4));
        List<Sent> late = sentTo(0);
        late.forEach(check -> check.outcome.good());
        react(0, outcome -> outcome.bad("answered 503"));
        advance(Duration.ofSeconds(9));
        assertThat(state(0)).isEqualTo(State.OPEN);
        late.forEach(check -> check.outcome.good());
        late.forEach(check -> check.outcome.good());
        advance(Duration.ofMillis(1));
        assertThat(state(0)).as("late answers").isEqualTo(State.OPEN);
    }

    /** A JVM that has just started answers its first checks late. */
    @Test
    void keepsAnInstanceThatStartsSlowly() {
        react(0, outcome -> {
            if (sentTo(0).size() > 2) {
                outcome.good();
            }
        });
        advance(Duration.ofSeconds(60));
        assertThat(state(0)).isEqualTo(State.CLOSED);
        assertThat(sentTo(0).subList(0, 2)).allMatch(check -> check.isGivenUp);
    }

    @Test
    @SuppressWarnings("FutureReturnValueIgnored") // The event has no result.
    void countsNoPauseOfTheGatewayAgainstAnInstance() {
        HealthChecker strict =
                checker(HealthCheckProperties.ofPath("/up", Duration.ofSeconds(2), Duration.ofSeconds(1), 2, 1));
        checker.replaceBy(strict);
        // Each answer takes 100 ms.
        for (int i = 0; i < INSTANCES; i++) {
            react(i, outcome -> channel.eventLoop().schedule(outcome::good, 100, TimeUnit.MILLISECONDS));
        }
        for (int i = 0; i < 50; i++) {
            advance(Duration.ofMillis(random.nextInt(4000)));
            pause(Duration.ofMillis(500 + random.nextInt(7000)));
        }
        assertThat(instances).allMatch(instance -> instance.health().state() == State.CLOSED);
        assertThat(instances)
                .allSatisfy(instance -> assertThat(
                                Objects.requireNonNull(instance.health().check())
                                        .failures())
                        .isZero());
    }

    @Test
    void countsNoShortageOfTheGatewayAgainstAnInstance() {
        react(0, outcome -> outcome.failed(new SocketException("Too many open files")));
        advance(Duration.ofSeconds(60));
        assertThat(state(0)).isEqualTo(State.CLOSED);
        react(0, outcome -> outcome.failed(new ConnectException("Connection refused")));
        advance(Duration.ofSeconds(10));
        assertThat(state(0)).isEqualTo(State.OPEN);
    }

    @Test
    void aStoppedCheckerSendsNothingAndReleasesItsInstances() {
        react(0, outcome -> outcome.bad("answered 503"));
        react(1, outcome -> {});
        advance(Duration.ofSeconds(9));
        assertThat(instances.get(0).health().isHeldByCheck()).isTrue();
        checker.replaceBy(null);
        channel.runPendingTasks();
        int before = sent.size();
        assertThat(sentTo(1)).as("under way or over").allMatch(check -> check.isGivenUp);
        sent.forEach(check -> check.outcome.bad("answered 503"));
        advance(Duration.ofMinutes(1));

        assertThat(sent).hasSize(before);
        assertThat(instances).noneMatch(instance -> instance.health().isHeldByCheck());
        assertThat(instances).allMatch(instance -> instance.health().check() == null);
        assertThat(channel.runScheduledPendingTasks()).as("no timer is left").isNegative();
    }

    @Test
    void aClosedCheckerSendsNothingAndReleasesNoInstance() {
        react(0, outcome -> outcome.bad("answered 503"));
        react(1, outcome -> {});
        advance(Duration.ofSeconds(9));
        checker.close();
        channel.runPendingTasks();
        int before = sent.size();
        assertThat(sentTo(1)).as("under way or over").allMatch(check -> check.isGivenUp);
        advance(Duration.ofMinutes(1));

        assertThat(sent).hasSize(before);
        assertThat(instances.get(0).health().isHeldByCheck()).isTrue();
        assertThat(channel.runScheduledPendingTasks()).as("no timer is left").isNegative();
    }

    @Test
    void aSuccessorGoesOnWithTheVerdicts() {
        react(0, outcome -> outcome.bad("answered 503"));
        advance(Duration.ofSeconds(9));
        checker.replaceBy(checker(CHECK));
        channel.runPendingTasks();
        assertThat(instances.get(0).health().isHeldByCheck()).isTrue();
        react(0, Outcome::good);
        advance(Duration.ofSeconds(6));
        assertThat(instances.get(0).health().isIn()).isTrue();
        sent.clear();
        advance(Duration.ofSeconds(100));
        assertThat(sentTo(0)).as("one checker").hasSizeBetween(45, 55);
    }

    @Test
    void goesOnWhereACheckCannotBeSent() {
        react(0, outcome -> {
            throw new IllegalStateException("cannot be sent");
        });
        advance(Duration.ofSeconds(20));
        assertThat(state(0)).isEqualTo(State.CLOSED);
        assertThat(sentTo(0)).hasSizeBetween(8, 12);
    }
}
