package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.TestHealth;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The time for which an instance is left alone, and the probes that do not start meanwhile. */
class PushbackTest {

    private static final long MILLIS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int ANN = 1;
    private static final int BEN = 2;

    private long maxNanos = 30 * SECOND;
    private double random;
    private long now = Long.MAX_VALUE - SECOND;
    private final Pushback pushback = new Pushback(() -> maxNanos, () -> random);

    // ---------------------------------------------------------------- the time

    @Test
    void lastsForTheTimeThatTheInstanceAsks() {
        assertThat(pushback.isInForce(now)).isFalse();

        pushback.asked(5 * SECOND, now);
        assertThat(pushback.leftNanos(now)).isEqualTo(5 * SECOND);

        now += 5 * SECOND - 1;
        assertThat(pushback.isInForce(now)).isTrue();
        now++;
        assertThat(pushback.isInForce(now)).isFalse();
    }

    /** Gateways do not return at once, and none before the time. */
    @ParameterizedTest
    @CsvSource({"0, 2_000, 2_000", "1, 2_000, 2_200", "1, 20_000, 20_500", "0, 90_000, 30_000", "1, 90_000, 30_500"})
    void isJitteredByATenthAndBounded(double jitter, long millis, long lasts) {
        random = jitter;

        pushback.asked(millis * MILLIS, now);

        assertThat(pushback.leftNanos(now)).isEqualTo(lasts * MILLIS);
    }

    @Test
    void isNeverForEver() {
        pushback.asked(Long.MAX_VALUE, now);

        assertThat(pushback.leftNanos(now)).isEqualTo(30 * SECOND);
    }

    @Test
    void endsWithTheLongestTimeAndIsJitteredOnce() {
        pushback.asked(4 * SECOND, now);
        random = 1;
        pushback.asked(2 * SECOND, now);
        assertThat(pushback.leftNanos(now)).isEqualTo(4 * SECOND);

        pushback.asked(5 * SECOND, now);
        assertThat(pushback.leftNanos(now)).isEqualTo(5 * SECOND);

        now += 5 * SECOND;
        pushback.asked(5 * SECOND, now);
        assertThat(pushback.leftNanos(now)).as("another one").isEqualTo(5_500 * MILLIS);
    }

    @Test
    void hasNoEffectIfItIsOff() {
        maxNanos = 0;

        pushback.asked(5 * SECOND, now);
        pushback.askedOfCaller(ANN, 5 * SECOND, now);
        pushback.askedOfCaller(BEN, 5 * SECOND, now + 2 * SECOND);

        assertThat(pushback.isInForce(now + 2 * SECOND)).isFalse();
    }

    @Test
    void hasNoEffectWithoutATime() {
        pushback.asked(0, now);

        assertThat(pushback.isInForce(now)).isFalse();
    }

    // ---------------------------------------------------------------- other calls succeed

    @Test
    void endsWithAGoodAnswerToALaterCallOnly() {
        pushback.asked(5 * SECOND, now);
        now += 10 * MILLIS;

        pushback.answeredWell(now - 20 * MILLIS);
        assertThat(pushback.isInForce(now)).as("an earlier call").isTrue();

        pushback.answeredWell(now);
        assertThat(pushback.isInForce(now)).isFalse();
    }

    /** Of a backend that refuses some calls and answers others well, the last answer does not decide. */
    @Test
    void endsWithAGoodAnswerToACallThatWasSentAfterTheFirstRequest() {
        pushback.asked(5 * SECOND, now);
        long sentAt = now + MILLIS;
        pushback.asked(5 * SECOND, now + 2 * MILLIS);

        pushback.answeredWell(sentAt);

        assertThat(pushback.isInForce(now + 3 * MILLIS)).isFalse();
    }

    // ---------------------------------------------------------------- the quota of a caller

    @Test
    void isNotBegunByOneCallersQuota() {
        for (int i = 0; i < 100; i++) {
            pushback.askedOfCaller(ANN, 5 * SECOND, now);
            now += 100 * MILLIS;
            assertThat(pushback.isInForce(now)).isFalse();
        }
    }

    @Test
    void isNotBegunByTheQuotasOfSomeCallersWhileOthersAreAnswered() {
        for (int i = 0; i < 100; i++) {
            pushback.askedOfCaller(i, 5 * SECOND, now);
            now += 100 * MILLIS;
            if (i % 10 == 0) {
                pushback.answeredWell(now - SECOND);
            }
            assertThat(pushback.isInForce(now)).isFalse();
        }
    }

    @Test
    void isBegunByTheQuotasOfAllCallersAfterASecond() {
        pushback.askedOfCaller(ANN, 5 * SECOND, now);
        pushback.askedOfCaller(BEN, 5 * SECOND, now + 500 * MILLIS);
        assertThat(pushback.isInForce(now + 500 * MILLIS)).isFalse();

        now += SECOND;
        pushback.askedOfCaller(ANN, 5 * SECOND, now);
        assertThat(pushback.leftNanos(now)).isEqualTo(5 * SECOND);

        now += SECOND;
        pushback.askedOfCaller(ANN, 7 * SECOND, now);
        assertThat(pushback.leftNanos(now)).isEqualTo(7 * SECOND);
    }

    @Test
    void isNotBegunByQuotasThatAreFarApart() {
        pushback.askedOfCaller(ANN, 5 * SECOND, now);
        now += 11 * SECOND;

        pushback.askedOfCaller(BEN, 5 * SECOND, now);
        assertThat(pushback.isInForce(now)).isFalse();

        pushback.askedOfCaller(ANN, 5 * SECOND, now + SECOND);
        assertThat(pushback.isInForce(now + SECOND)).isTrue();
    }

    // ---------------------------------------------------------------- probes

    private Health open(Duration maxPushback) {
        Health health = TestHealth.of(settings(maxPushback), () -> now);
        health.pushback().asked(5 * SECOND, now);
        health.operator().openNow();
        return health;
    }

    private static HealthSettings settings(Duration maxPushback) {
        return TestHealth.settings(
                Duration.ofSeconds(2),
                20,
                null,
                new RecoveryProperties(null, Duration.ofMillis(100), 5, maxPushback, null));
    }

    private boolean startsProbe(Health health) {
        return health.probes().tryStart(now, 0, false) != null
                || health.probes().tryStartLastResort(now, 0) != null
                || health.probes().tryStartRare(now, 0) != null;
    }

    @Test
    void startsNoProbeMeanwhileAndOneAtItsEnd() {
        Health health = open(Duration.ofSeconds(30));
        long end = health.pushback().leftNanos(now);
        assertThat(health.probes().nanosToNext()).isEqualTo(end);

        for (long passed = 0; passed < end; passed += 50 * MILLIS) {
            assertThat(startsProbe(health)).isFalse();
            assertThat(health.probes().isLastResortDue(now, 0)).isFalse();
            now += 50 * MILLIS;
        }
        assertThat(health.probes().nanosToNext()).isZero();
        assertThat(startsProbe(health)).isTrue();
    }

    @Test
    void startsProbesAsEverIfItIsOff() {
        Health health = open(Duration.ZERO);

        now += 100 * MILLIS;

        assertThat(startsProbe(health)).isTrue();
    }

    @Test
    void isRenewedByTheAnswerToAProbe() {
        Health health = open(Duration.ofSeconds(30));
        now += 6 * SECOND;
        Probe probe = Objects.requireNonNull(health.probes().tryStart(now, 0, false));

        probe.pushedBack(2 * SECOND, now);
        probe.failed();

        now += SECOND;
        assertThat(startsProbe(health)).isFalse();
        now += 2 * SECOND;
        assertThat(startsProbe(health)).isTrue();
    }

    // ---------------------------------------------------------------- another configuration

    @Test
    void staysIfOtherSettingsChange() {
        Health health = open(Duration.ofSeconds(30));

        health.configure(TestHealth.settings(
                Duration.ofSeconds(9),
                20,
                null,
                new RecoveryProperties(null, Duration.ofMillis(50), 5, Duration.ofSeconds(30), null)));

        assertThat(health.pushback().isInForce(now)).isTrue();
    }

    @Test
    void isForgottenIfItsBoundChanges() {
        Health health = open(Duration.ofSeconds(30));

        health.configure(settings(Duration.ofSeconds(1)));

        assertThat(health.pushback().isInForce(now)).isFalse();
    }

    @Test
    void staysWithAnInstanceThatBecomesOneOfSeveral() {
        Health only = open(Duration.ofSeconds(30));
        Health instance = TestHealth.of(settings(Duration.ofSeconds(30)), () -> now);

        instance.role().takeStateOf(only);

        assertThat(instance.pushback().leftNanos(now)).isEqualTo(only.pushback().leftNanos(now));
    }
}
