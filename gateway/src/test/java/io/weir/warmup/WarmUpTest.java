package io.weir.warmup;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@ExtendWith(OutputCaptureExtension.class)
class WarmUpTest {

    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 1_000);
    private final Calls calls = new Calls();
    /** The compilers are busy for this long. */
    private Duration compiling = Duration.ofDays(1);

    private boolean hasCache;
    private boolean isInterrupted;
    private Runnable eachLook = () -> {};
    private long waitedNanos;

    private final Compilers compilers = new Compilers() {
        @Override
        public long usedMillis() {
            return Math.min(waitedNanos / 1_000_000, compiling.toMillis());
        }

        @Override
        public long callsMin() {
            return 1_000;
        }

        @Override
        public boolean hasCache() {
            return hasCache;
        }
    };

    private static final class Calls implements Exercise {

        private boolean isStarted;
        private boolean isClosed;
        private long answered;
        private long failed;
        private @Nullable RuntimeException failure;

        @Override
        public void start() {
            isStarted = true;
            if (failure != null) {
                throw failure;
            }
        }

        @Override
        public long answered() {
            return answered;
        }

        @Override
        public long failed() {
            return failed;
        }

        @Override
        public void close() {
            isClosed = true;
        }
    }

    @BeforeEach
    void answerCalls() {
        eachLook = () -> calls.answered += 500;
    }

    @AfterEach
    void clearTheInterrupt() {
        assertThat(Thread.interrupted()).isEqualTo(isInterrupted);
    }

    private WarmUp warmUp(@Nullable Duration maxDuration) {
        return new WarmUp(maxDuration, compilers, clock::get, this::pause);
    }

    private boolean pause(CountDownLatch stopped, Duration time) throws InterruptedException {
        if (isInterrupted) {
            throw new InterruptedException();
        }
        eachLook.run();
        if (stopped.getCount() == 0) {
            return true;
        }
        clock.addAndGet(time.toNanos());
        waitedNanos += time.toNanos();
        return false;
    }

    private Duration waited() {
        return Duration.ofNanos(waitedNanos);
    }

    @Test
    void endsTwoSecondsAfterTheLastCompilation(CapturedOutput output) {
        compiling = Duration.ofSeconds(7);
        warmUp(null).run(() -> calls);

        assertThat(waited()).isBetween(Duration.ofSeconds(8), Duration.ofSeconds(10));
        assertThat(calls.isClosed).isTrue();
        assertThat(output).contains("Warming up: ").contains("Warm-up ended (warm): ");
    }

    @Test
    void endsAfterTwentySecondsWithoutQuiet(CapturedOutput output) {
        warmUp(null).run(() -> calls);

        assertThat(waited()).isEqualTo(WarmUp.DEFAULT);
        assertThat(output.getOut().lines().filter(line -> line.contains("Warming up: ")))
                .hasSize(3);
        assertThat(output).contains("weir.warm-up.max-duration is over");
    }

    @Test
    void isShorterWithACache() {
        hasCache = true;
        warmUp(null).run(() -> calls);

        assertThat(waited()).isEqualTo(WarmUp.DEFAULT_WITH_CACHE);
    }

    @Test
    void lastsAsLongAsConfiguredAlsoWithACache() {
        hasCache = true;
        warmUp(Duration.ofSeconds(9)).run(() -> calls);

        assertThat(waited()).isEqualTo(Duration.ofSeconds(9));
    }

    @Test
    void doesNothingWhereItIsSwitchedOff(CapturedOutput output) {
        warmUp(Duration.ZERO).run(() -> {
            throw new AssertionError("begun");
        });

        assertThat(output).isEmpty();
    }

    @Test
    void endsAtAStop(CapturedOutput output) {
        WarmUp warmUp = warmUp(null);
        eachLook = () -> {
            if (waitedNanos > Duration.ofSeconds(3).toNanos()) {
                warmUp.stop();
            }
        };
        warmUp.run(() -> calls);

        assertThat(waited()).isLessThan(Duration.ofSeconds(4));
        assertThat(calls.isClosed).isTrue();
        assertThat(output).contains("Warm-up ended (stopped)").doesNotContain("Warm-up failed");
    }

    @Test
    void doesNotBeginAfterAStop() {
        WarmUp warmUp = warmUp(null);
        warmUp.stop();
        warmUp.run(() -> {
            throw new AssertionError("begun");
        });
    }

    @Test
    void endsAtAnInterruptAndKeepsIt() {
        isInterrupted = true;
        warmUp(null).run(() -> calls);

        assertThat(calls.isStarted).isTrue();
        assertThat(calls.isClosed).isTrue();
    }

    @Test
    void logsInOneLineThatNothingCouldBeOpened(CapturedOutput output) {
        warmUp(null).run(() -> {
            throw new IllegalStateException("no port");
        });

        assertThat(output.getOut().lines()).singleElement().asString().contains("Warm-up failed", "no port");
    }

    @Test
    void logsInOneLineThatAClassIsMissing(CapturedOutput output) {
        warmUp(null).run(() -> {
            throw new NoClassDefFoundError("a/B");
        });

        assertThat(output.getOut().lines()).singleElement().asString().contains("Warm-up failed", "a/B");
    }

    @Test
    void closesCallsThatCannotBegin(CapturedOutput output) {
        calls.failure = new IllegalStateException("no thread");
        warmUp(null).run(() -> calls);

        assertThat(calls.isClosed).isTrue();
        assertThat(output.getOut().lines()).singleElement().asString().contains("no thread");
    }

    @Test
    void goesOnIfFewCallsFail() {
        eachLook = () -> {
            calls.answered += 8;
            calls.failed += 7;
        };
        warmUp(null).run(() -> calls);

        assertThat(waited()).isEqualTo(WarmUp.DEFAULT);
    }

    @Test
    void endsSoonIfNoCallIsAnswered(CapturedOutput output) {
        eachLook = () -> calls.failed += 7;
        warmUp(null).run(() -> calls);

        assertThat(waited()).isEqualTo(WarmUp.HOPELESS);
        assertThat(output).contains("Warm-up failed", "of 140 calls, 140 were not answered as expected");
    }
}
