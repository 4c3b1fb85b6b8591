package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SlowReaderDetectorTest {

    private static final Duration IDLE = ExchangeFixture.READ_IDLE;

    private final ExchangeFixture fixture = new ExchangeFixture().create();
    private final SlowReaderDetector detector = new SlowReaderDetector(fixture.exchange(), fixture.now());
    private long received;

    @AfterEach
    void flush() {
        if (fixture.channel.isOpen()) {
            fixture.channel.flushOutbound();
        }
        fixture.channel.releaseOutbound();
    }

    @Test
    void detectsACallerThatReadsNothingAtMostAnEighthLate() {
        writes(1_000);

        assertThat(timeUntilStalled()).isBetween(IDLE, IDLE.plus(IDLE.dividedBy(8)));
    }

    @Test
    void isNotEarlyIfTheCallerFallsBehindLate() {
        assertThat(looksUntil(IDLE.multipliedBy(3))).isFalse();
        writes(1_000);

        assertThat(timeUntilStalled()).isBetween(IDLE, IDLE.plus(IDLE.dividedBy(8)));
    }

    @Test
    void countsTheTimeFromTheLastProgressAndNotFromTheLastCheck() {
        writes(1_000_000);
        received += 500_000;
        assertThat(looksUntil(IDLE.dividedBy(16))).isFalse();

        received += 1_000;
        assertThat(timeUntilStalled()).isLessThanOrEqualTo(IDLE.plus(IDLE.dividedBy(8)));
    }

    @Test
    void leavesACallerAloneThatHasReadEverything() {
        received = 1_000_000;

        assertThat(looksUntil(IDLE.multipliedBy(5))).isFalse();
    }

    @Test
    void detectsACallerThatReadsAByteNowAndThen() {
        writes(1_000);
        Duration passed = Duration.ZERO;
        while (!isStalled() && passed.compareTo(IDLE.multipliedBy(3)) < 0) {
            received++;
            advance(Duration.ofSeconds(1));
            passed = passed.plusSeconds(1);
        }

        // Each byte gives back a tenth of a second.
        assertThat(passed).isBetween(IDLE, IDLE.plus(IDLE.dividedBy(4)));
    }

    @Test
    void leavesACallerAtTheMinimumRateAlone() {
        writes(1_000);
        for (int i = 0; i < 100; i++) {
            assertThat(isStalled()).isFalse();
            received += ExchangeFixture.MIN_BYTES_PER_SECOND;
            advance(Duration.ofSeconds(1));
        }
    }

    @Test
    void countsTheBytesThatWaitForTheCallerAtOnceIfTheyAreMany() {
        writes(100_000);
        fixture.record().answerBytes = 100_000;
        assertThat(detector.dueNanos(fixture.now())).isEqualTo(HeldUpCall.PATIENCE_NANOS);

        assertThat(isStalled()).isFalse();
        assertThat(fixture.engine.resources().slowCallers().unreadBytes()).isGreaterThanOrEqualTo(100_000);

        fixture.channel.flushOutbound();
        assertThat(isStalled()).isFalse();
        assertThat(fixture.engine.resources().slowCallers().unreadBytes()).isZero();
    }

    @Test
    void countsNoBytesOfAConnectionThatIsClosed() {
        writes(100_000);
        assertThat(isStalled()).isFalse();
        assertThat(fixture.engine.resources().slowCallers().unreadBytes()).isPositive();

        assertThat(fixture.channel.close().isDone()).isTrue();

        assertThat(isStalled()).isFalse();
        assertThat(detector.isBehind(false)).isFalse();
        assertThat(fixture.engine.resources().slowCallers().unreadBytes()).isZero();
    }

    private Duration timeUntilStalled() {
        long began = fixture.now();
        looksUntil(IDLE.multipliedBy(3));
        return Duration.ofNanos(fixture.now() - began);
    }

    /** Looks when the detector asks for it. */
    private boolean looksUntil(Duration end) {
        long endNanos = fixture.now() + end.toNanos();
        while (!isStalled()) {
            if (fixture.now() >= endNanos) {
                return false;
            }
            long due = detector.dueNanos(fixture.now());
            assertThat(due).isPositive();
            advance(Duration.ofNanos(due));
        }
        return true;
    }

    private boolean isStalled() {
        return detector.isStalled(received, false, fixture.now());
    }

    private void advance(Duration time) {
        fixture.advance(time);
    }

    /** Bytes that the caller does not read. */
    private void writes(int bytes) {
        received += bytes;
        ChannelFuture unread = fixture.channel.write(Unpooled.wrappedBuffer(new byte[bytes]));
        assertThat(unread.isDone()).isFalse();
    }
}
