package io.weir.authentication;

import static org.assertj.core.api.Assertions.assertThat;

import com.nimbusds.jose.jwk.JWKSet;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@ExtendWith(OutputCaptureExtension.class)
class IssuerKeysTest {

    static final IssuerProperties PROPERTIES = new IssuerProperties(
            TestIssuer.ISS,
            URI.create("http://id.example/keys"),
            List.of("weir"),
            Duration.ofMinutes(1),
            "sub",
            Duration.ofMinutes(5),
            Duration.ofSeconds(10),
            Duration.ofSeconds(5));

    private static final JWKSet KEYS = TestIssuer.publicKeys(TestIssuer.FIRST);
    private static final JWKSet NEXT_KEYS = TestIssuer.publicKeys(TestIssuer.FIRST, TestIssuer.SECOND);

    private final TestKeySource source = new TestKeySource();
    private long nanos = -3;
    private final IssuerKeys keys = new IssuerKeys("corp", PROPERTIES, source, null, () -> nanos, () -> 0);

    private void pass(Duration time) {
        nanos += time.toNanos();
        keys.refreshIfDue();
    }

    @Test
    void fetchesAtOnceAndThenOncePerInterval() {
        pass(Duration.ZERO);
        assertThat(keys.inForce()).isNull();
        source.answer(KEYS);
        assertThat(keys.inForce()).isSameAs(KEYS);

        pass(Duration.ofMinutes(5).minusNanos(1));
        assertThat(source.fetches).hasSize(1);
        pass(Duration.ofNanos(1));
        assertThat(source.fetches).hasSize(2);
        source.answer(NEXT_KEYS);

        assertThat(keys.inForce()).isSameAs(NEXT_KEYS);
        assertThat(keys.fetched()).isEqualTo(2);
    }

    @Test
    void usesTheOthersIfSomeKeysCannotBeReadAndSaysSoOnce(CapturedOutput output) {
        for (int i = 0; i < 3; i++) {
            pass(Duration.ofMinutes(5));
            source.answer(KEYS, "odd: unknown curve");
        }

        assertThat(keys.inForce()).isSameAs(KEYS);
        assertThat(keys.partial()).isEqualTo(3);
        assertThat(keys.fetched() + keys.failed()).isZero();
        assertThat(output.getOut()).containsOnlyOnce("cannot be read, and are skipped: [odd: unknown curve]");
    }

    @Test
    void beginsNoFetchBesideAnother() {
        pass(Duration.ZERO);
        pass(Duration.ofHours(1));

        assertThat(source.fetches).hasSize(1);
    }

    @Test
    void keepsTheSameObjectForEqualKeys() {
        pass(Duration.ZERO);
        source.answer(KEYS);
        pass(Duration.ofMinutes(5));
        source.answer(TestIssuer.publicKeys(TestIssuer.FIRST));

        assertThat(keys.inForce()).isSameAs(KEYS);
    }

    @Test
    void keepsKnownKeysForeverWhileTheIssuerIsDown() {
        pass(Duration.ZERO);
        source.answer(KEYS);
        pass(Duration.ofMinutes(5));
        source.fail();

        for (int day = 0; day < 30; day++) {
            pass(Duration.ofDays(1));
            source.fail();
        }

        assertThat(keys.inForce()).isSameAs(KEYS);
        assertThat(keys.failingNanos()).isEqualTo(Duration.ofDays(30).toNanos());
        assertThat(keys.failed()).isEqualTo(31);
        pass(Duration.ofMinutes(5));
        source.answer(NEXT_KEYS);
        assertThat(keys.inForce()).isSameAs(NEXT_KEYS);
        assertThat(keys.failingNanos()).isZero();
    }

    @Test
    void repeatsAFailedFetchLessAndLessOften() {
        pass(Duration.ZERO);
        for (int seconds : new int[] {1, 2, 4, 8, 16, 30, 30}) {
            source.fail();
            int before = source.fetches.size();
            pass(Duration.ofSeconds(seconds).minusNanos(1));
            assertThat(source.fetches).hasSize(before);
            pass(Duration.ofNanos(1));
            assertThat(source.fetches).as("after %s s", seconds).hasSize(before + 1);
        }
    }

    @Test
    void inventedKeysCauseOneFetchPerInterval() {
        pass(Duration.ZERO);
        source.answer(KEYS);
        pass(Duration.ofSeconds(10));
        assertThat(source.fetches).hasSize(1);

        for (int i = 0; i < 1000; i++) {
            assertThat(keys.fetchForUnknownKey()).isNotNull();
        }
        assertThat(source.fetches).hasSize(2);
        source.answer(KEYS);
        for (int i = 0; i < 1000; i++) {
            assertThat(keys.fetchForUnknownKey()).isNull();
        }
        nanos += Duration.ofSeconds(10).toNanos();
        assertThat(keys.fetchForUnknownKey()).isNotNull();

        assertThat(source.fetches).hasSize(3);
    }

    @Test
    void aFailedFetchCountsForTheIntervalToo() {
        pass(Duration.ZERO);
        source.fail();

        assertThat(keys.fetchForUnknownKey()).isNull();
        assertThat(source.fetches).hasSize(1);
    }

    @Test
    void wakesEachWaitingRequestOnce() {
        AtomicInteger woken = new AtomicInteger();
        KeyFetch fetch = Objects.requireNonNull(keys.fetchForUnknownKey());
        fetch.whenEnded(() -> {
            throw new IllegalStateException("its event loop has stopped");
        });
        fetch.whenEnded(woken::incrementAndGet);
        assertThat(woken.get()).isZero();

        source.fail();
        assertThat(woken.get()).isEqualTo(1);
        fetch.whenEnded(woken::incrementAndGet);

        assertThat(woken.get()).as("after the end").isEqualTo(2);
    }

    @Test
    void letsABoundedNumberOfRequestsWait() {
        KeyFetch fetch = Objects.requireNonNull(keys.fetchForUnknownKey());
        for (int i = 0; i < KeyFetch.MAX_WAITING; i++) {
            assertThat(fetch.whenEnded(() -> {})).isTrue();
        }

        assertThat(fetch.whenEnded(() -> {})).isFalse();
    }

    @Test
    void survivesASourceThatThrows() {
        IssuerKeys broken = new IssuerKeys(
                "corp",
                PROPERTIES,
                () -> {
                    throw new IllegalArgumentException("no such URI");
                },
                KEYS,
                () -> nanos,
                () -> 0);

        broken.refreshIfDue();

        assertThat(broken.inForce()).isSameAs(KEYS);
        assertThat(broken.failed()).isEqualTo(1);
        assertThat(broken.fetchForUnknownKey()).isNull();
    }
}
