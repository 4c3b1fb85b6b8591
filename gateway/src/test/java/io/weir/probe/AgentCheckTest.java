package io.weir.probe;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.channel.embedded.EmbeddedChannel;
import io.weir.capacity.AgentProperties;
import io.weir.capacity.CapacitySignal;
import io.weir.capacity.CapacitySignal.Ignored;
import io.weir.capacity.StatedCapacity;
import io.weir.health.Health;
import io.weir.health.HealthCheckProperties;
import io.weir.health.HealthChecks.Status;
import io.weir.health.HealthSettings;
import io.weir.instance.HashKey;
import io.weir.instance.Instance;
import io.weir.instance.InstanceAddress;
import io.weir.instance.Instances;
import io.weir.instance.LoadBalancingProperties;
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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When agents are asked, and what their words do, in virtual time and without a network. */
class AgentCheckTest {

    private static final int INSTANCES = 3;
    private static final Duration INTERVAL = Duration.ofSeconds(2);
    private static final Duration TWO_INTERVALS = Duration.ofSeconds(5);
    private static final AgentProperties AGENT = new AgentProperties(9000, INTERVAL);
    private static final HealthCheckProperties CHECK =
            HealthCheckProperties.ofPath("/up", INTERVAL, Duration.ofSeconds(1), 1, 1);

    /** A question that was sent to an agent. */
    private final class Sent {
        final Instance instance;
        final AgentCheck.Answer answer;
        final long at = now();
        boolean isGivenUp;

        Sent(Instance instance, AgentCheck.Answer answer) {
            this.instance = instance;
            this.answer = answer;
        }
    }

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Random random = new Random(1);
    private final CapacitySignal signal = new CapacitySignal(() -> {});
    private final List<Instance> all = new ArrayList<>();
    private final List<Sent> sent = new ArrayList<>();
    /** The reaction of each agent to a question. */
    private final List<Consumer<AgentCheck.Answer>> reactions = new ArrayList<>();
    /** The reaction of each instance to a health check. */
    private final List<Consumer<Outcome>> checks = new ArrayList<>();

    private final Instances instances;
    private @Nullable HealthChecker checker;

    AgentCheckTest() {
        channel.freezeTime();
        channel.advanceTimeBy(1, TimeUnit.HOURS);
        HealthSettings settings = TestHealth.settings(Duration.ofSeconds(1), 20, Duration.ofMillis(100));
        for (int i = 0; i < INSTANCES; i++) {
            URI uri = URI.create("http://orders-" + i + ":8080");
            Health own = Health.ofInstance(
                    "orders", uri.toString(), settings, TestHealth.unlimited(), this::now, random::nextDouble);
            all.add(new Instance(InstanceAddress.of(uri, 1), HealthCheckerTest.POOL, own, new StatedCapacity(signal)));
            reactions.add(answer -> answer.line("up"));
            checks.add(Outcome::good);
        }
        instances = Instances.of(
                all,
                TestHealth.of(settings, this::now),
                LoadBalancingProperties.defaults(),
                random::nextInt,
                opened -> {});
        instances.takeOver();
        replace(null, AGENT);
    }

    /** Puts another checker in force. */
    private void replace(@Nullable HealthCheckProperties check, @Nullable AgentProperties agent) {
        HealthChecker next = check == null && agent == null
                ? null
                : HealthChecker.ofSenders(
                        all,
                        check,
                        agent,
                        new RepeatedCheck.Timing(channel.eventLoop(), this::now, random::nextDouble),
                        (instance, request, outcome) -> {
                            checks.get(all.indexOf(instance)).accept(outcome);
                            return () -> {};
                        },
                        this::send);
        HealthChecker before = checker;
        checker = next;
        if (before != null) {
            before.replaceBy(next);
        } else {
            Objects.requireNonNull(next).start();
        }
        channel.runPendingTasks();
    }

    private Runnable send(Instance instance, AgentCheck.Answer answer) {
        Sent question = new Sent(instance, answer);
        sent.add(question);
        reactions.get(all.indexOf(instance)).accept(answer);
        return () -> question.isGivenUp = true;
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

    /** The agent of an instance says this line from now on, and has been asked. */
    private void says(int index, String line) {
        reactions.set(index, answer -> answer.line(line));
        advance(TWO_INTERVALS);
    }

    /** The agent of an instance gives no line from now on. */
    private void isGone(int index) {
        reactions.set(index, answer -> answer.failed(new ConnectException("Connection refused")));
        advance(TWO_INTERVALS);
    }

    private boolean isOut(int index) {
        return all.get(index).health().state() == State.OPEN;
    }

    private @Nullable Status status(int index) {
        return all.get(index).health().check();
    }

    private int calls(int index) {
        return all.get(index).capacity().calls(now());
    }

    private List<Sent> sentTo(int index) {
        return sent.stream()
                .filter(question -> question.instance == all.get(index))
                .toList();
    }

    // ---------------------------------------------------------------- words

    @ParameterizedTest
    @CsvSource({
        "drain, ready",
        "maint, ready",
        "down, up",
        "stopped, up",
        "fail, up",
        "DOWN # the disk is full, Up",
        "0%, 75%",
        "'up, ready, 0%', 1%"
    })
    void aWordTakesAnInstanceOutUntilItsCounterpart(String out, String in) {
        says(0, out);

        assertThat(isOut(0)).isTrue();
        assertThat(all.get(0).health().isHeldByCheck()).as("no probe").isTrue();
        String word = all.get(0).capacity().agent().outWord();
        assertThat(all.get(0).health().why()).isEqualTo("its agent says " + word);
        assertThat(Objects.requireNonNull(status(0)).agent()).isEqualTo(word);
        assertThat(isOut(1) || isOut(2)).isFalse();
        says(0, "maxconn:20");
        assertThat(isOut(0)).as("the word stays").isTrue();

        says(0, in);

        assertThat(all.get(0).health().isIn()).isTrue();
        assertThat(status(0)).isNull();
        assertThat(signal.ignored(Ignored.AGENT_WORD)).isZero();
    }

    @ParameterizedTest
    @CsvSource({"drain, up", "maint, up", "down, ready", "fail, 100%", "0%, up ready"})
    void anotherWordDoesNotEndIt(String out, String other) {
        says(0, out);
        says(0, other);

        assertThat(isOut(0)).isTrue();
    }

    @Test
    void readsWordsBetweenBlanksTabsAndCommas() {
        says(0, " up\t75%,maxconn:30, ready # maxconn:99 drain");

        assertThat(calls(0)).isEqualTo(30);
        assertThat(all.get(0).share()).isEqualTo(75);
        assertThat(isOut(0)).isFalse();
        assertThat(signal.ignored(Ignored.AGENT_WORD)).isZero();
    }

    @Test
    void aNumberOfConnectionsCountsForTenSecondsFromItsLastRepetition() {
        says(0, "maxconn:30");
        advance(Duration.ofMinutes(1));
        assertThat(calls(0)).isEqualTo(30);

        says(0, "up");
        advance(Duration.ofSeconds(8));

        assertThat(calls(0)).isEqualTo(StatedCapacity.NONE);
    }

    @Test
    void aPercentageIsAPartOfTheWeight() {
        says(0, "25%");

        int[] chosen = new int[INSTANCES];
        for (int i = 0; i < 9_000; i++) {
            Instance one = Objects.requireNonNull(instances.choose(now(), null, HashKey.NONE, 1));
            chosen[all.indexOf(one)]++;
        }

        assertThat(chosen[0]).isBetween(850, 1_150);
        assertThat(chosen[1]).isBetween(3_700, 4_300);
        says(0, "100%");
        assertThat(all.get(0).share()).isEqualTo(all.get(1).share());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"SSH-2.0-OpenSSH_9.2p1", "101%", "-5%", "%", "\u00ff\u00fe\u0000", "HTTP/1.1 400 Bad Request"})
    void countsNonsenseAndUsesTheOtherWords(String nonsense) {
        says(0, nonsense + " maxconn:30");
        says(0, "drain " + nonsense);

        assertThat(signal.ignored(Ignored.AGENT_WORD)).isBetween(4L, 6L);
        assertThat(isOut(0)).isTrue();
        assertThat(all.get(0).share()).isEqualTo(100);
    }

    @ParameterizedTest
    @ValueSource(strings = {"maxconn:", "maxconn:many", "maxconn:-1", "maxconn:1000001", "maxconn: 30"})
    void countsANumberOfConnectionsThatIsNone(String word) {
        says(0, word);

        assertThat(signal.ignored(Ignored.NOT_A_NUMBER)).isPositive();
        assertThat(calls(0)).isEqualTo(StatedCapacity.NONE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "#", ",\t,"})
    void aLineWithoutWordsChangesNothing(String line) {
        says(0, "drain 50%");
        says(0, line);

        assertThat(isOut(0)).isTrue();
        assertThat(all.get(0).share()).isEqualTo(50);
        assertThat(signal.ignored(Ignored.AGENT_WORD)).isZero();
        assertThat(signal.ignored(Ignored.AGENT_SILENT)).isZero();
    }

    // ---------------------------------------------------------------- silence

    @Test
    void anAgentThatIsGoneChangesNothing() {
        isGone(0);
        advance(Duration.ofMinutes(5));

        assertThat(isOut(0)).isFalse();
        assertThat(all.get(0).share()).isEqualTo(100);
        assertThat(signal.ignored(Ignored.AGENT_SILENT)).isGreaterThan(100);
    }

    @Test
    void itsLastWordsCountForAMinute() {
        says(0, "drain 50%");
        isGone(0);
        advance(Duration.ofSeconds(45));
        assertThat(isOut(0)).isTrue();

        advance(Duration.ofSeconds(15));

        assertThat(all.get(0).health().isIn()).isTrue();
        assertThat(all.get(0).share()).isEqualTo(100);
    }

    @Test
    void anAgentThatReturnsWithinTheMinuteNeedNotRepeatItsWords() {
        says(0, "drain");
        for (int i = 0; i < 3; i++) {
            isGone(0);
            advance(Duration.ofSeconds(40));
            says(0, "75%");
        }

        assertThat(isOut(0)).isTrue();
    }

    @Test
    void aShortageOfTheGatewayIsNoSilence() {
        reactions.set(0, answer -> answer.failed(new SocketException("Too many open files")));
        advance(Duration.ofMinutes(1));

        assertThat(signal.ignored(Ignored.AGENT_SILENT)).isZero();
    }

    @Test
    void asksOnceAnIntervalAndGivesAnAgentUpThatSaysNothing() {
        reactions.set(0, answer -> {});
        advance(Duration.ofSeconds(200));

        for (int i = 0; i < INSTANCES; i++) {
            assertThat(sentTo(i)).hasSizeBetween(90, 105);
        }
        List<Sent> silent = sentTo(0);
        assertThat(silent.subList(0, silent.size() - 1)).as("one at a time").allMatch(question -> question.isGivenUp);
        assertThat(sent.stream().map(question -> question.at).distinct())
                .as("spread")
                .hasSizeGreaterThan(250);
        // A late line is that of a question that was given up.
        silent.getFirst().answer.line("drain");
        advance(Duration.ofMillis(1));
        assertThat(isOut(0)).isFalse();
    }

    // ---------------------------------------------------------------- with the other instances and checks

    @Test
    void neverTakesOutTheLastInstance() {
        says(0, "drain");
        says(1, "down");
        assertThat(all.get(2).health().isIn()).isTrue();

        says(2, "maint");

        assertThat(all.get(2).health().isIn()).isTrue();
        assertThat(Objects.requireNonNull(status(2)).isIgnored()).isTrue();
        assertThat(all.get(1).health().isHeldByCheck())
                .as("probes may return it")
                .isFalse();
        says(2, "ready");
        assertThat(all.get(2).health().isIn()).isTrue();
        assertThat(all.get(1).health().isHeldByCheck()).isTrue();
    }

    @Test
    void anInstanceIsInIfNeitherItsCheckNorItsAgentKeepsItOut() {
        replace(CHECK, AGENT);
        says(0, "drain");
        advance(Duration.ofMinutes(2));
        assertThat(isOut(0)).as("its check passes").isTrue();

        checks.set(0, outcome -> outcome.bad("answered 503"));
        says(0, "ready");
        assertThat(isOut(0)).as("its check fails").isTrue();

        checks.set(0, Outcome::good);
        advance(TWO_INTERVALS);
        assertThat(all.get(0).health().isIn()).isTrue();
    }

    @Test
    void doesNotReturnAnInstanceThatAnOperatorHasDrained() {
        says(0, "drain");
        all.get(0).health().operator().drain();

        says(0, "ready up 100%");

        assertThat(all.get(0).health().isDrained()).isTrue();
    }

    // ---------------------------------------------------------------- reloads

    @Test
    void aSuccessorKeepsTheWords() {
        says(0, "drain 50%");
        reactions.set(0, answer -> answer.line("maxconn:9"));

        replace(CHECK, new AgentProperties(9001, Duration.ofSeconds(1)));
        advance(Duration.ofMinutes(2));

        assertThat(isOut(0)).isTrue();
        assertThat(all.get(0).share()).isEqualTo(50);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aReloadWithoutAgentsForgetsTheWords(boolean hasHealthCheck) {
        says(0, "drain 50%");
        says(1, "50%");
        sent.clear();

        replace(hasHealthCheck ? CHECK : null, null);
        advance(TWO_INTERVALS);

        assertThat(all.get(0).health().isHeldByCheck()).isFalse();
        assertThat(all).allMatch(instance -> instance.share() == 100);
        assertThat(sent).isEmpty();
    }
}
