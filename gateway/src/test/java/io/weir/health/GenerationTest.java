package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.VirtualTimer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The permits and the stalled calls of one generation. {@code HealthCollisions} (jcstress) has the races. The
 * clock overflows after the start.
 */
class GenerationTest {

    private static final long START = new VirtualTimer().nanos() + 995;

    private final Generation generation = new Generation(START);

    /** A call has waited for as long as its silence is too long, for the first time. */
    private void stall(long sentAt) {
        generation.countStalled(sentAt, sentAt, sentAt - 1);
    }

    // ---------------------------------------------------------------- permits

    @Test
    void eachCallGivesItsOwnPermitBackUntilTheBreakerOpens() {
        assertThat(generation.enter()).isTrue();
        assertThat(generation.enter()).isTrue();
        assertThat(generation.inFlight()).isEqualTo(2);
        assertThat(generation.leave()).isTrue();
        assertThat(generation.inFlight()).isOne();

        assertThat(generation.close()).as("the one that has not left").isOne();

        assertThat(generation.leave()).isFalse();
        assertThat(generation.isClosed()).isTrue();
    }

    @Test
    void aCallThatHasLeftIsNotCountedByTheOpening() {
        generation.enter();
        assertThat(generation.leave()).isTrue();
        assertThat(generation.isClosed()).isFalse();

        assertThat(generation.close()).isZero();
    }

    @Test
    void onlyTheFirstOfTwoOpeningsGivesPermitsBack() {
        generation.enter();
        generation.enter();

        assertThat(generation.close()).isEqualTo(2);
        assertThat(generation.close()).isZero();
    }

    @Test
    void noCallEntersAfterTheOpeningHoweverOftenItTries() {
        generation.enter();
        generation.close();
        for (int i = 0; i < 1_000; i++) {
            assertThat(generation.enter()).isFalse();
            assertThat(generation.enterBelow(1_000)).isFalse();
        }
        assertThat(generation.leave()).isFalse();
        assertThat(generation.inFlight()).isZero();
        assertThat(generation.isClosed()).isTrue();
    }

    @Test
    void entersBelowABoundOnly() {
        assertThat(generation.enterBelow(0)).isFalse();
        assertThat(generation.enterBelow(2)).isTrue();
        assertThat(generation.enterBelow(2)).isTrue();
        assertThat(generation.enterBelow(2)).isFalse();
        assertThat(generation.inFlight()).isEqualTo(2);

        generation.leave();

        assertThat(generation.enterBelow(2)).isTrue();
        assertThat(generation.enter()).as("without a bound").isTrue();
        assertThat(generation.inFlight()).isEqualTo(3);
    }

    // ---------------------------------------------------------------- answers

    @ParameterizedTest
    @CsvSource({"0, true", "9, true", "10, false", "11, false"})
    void hasAnsweredSinceAMomentIfTheAnswerIsLater(long since, boolean hasAnswered) {
        generation.answered(START + 10);

        assertThat(generation.hasAnsweredSince(START + since)).isEqualTo(hasAnswered);
        assertThat(generation.lastAnswerAt()).isEqualTo(START + 10);
    }

    @Test
    void theStartCountsAsTheFirstAnswer() {
        assertThat(generation.lastAnswerAt()).isEqualTo(START);
        assertThat(generation.hasAnsweredSince(START - 1)).isTrue();
        assertThat(generation.hasAnsweredSince(START)).isFalse();
    }

    // ---------------------------------------------------------------- stalls

    @ParameterizedTest
    @CsvSource({
        // sent at, silent since, counts if a permit is free, counts if none is; the last answer came at 10
        "10, 10, 1, 1",
        "12, 15, 1, 1",
        " 9, 10, 0, 1",
        " 9,  9, 0, 0",
        " 3,  9, 0, 0",
        " 3, 20, 0, 1"
    })
    void countsACallByTheLastAnswer(long sentAt, long silentSince, int ifPermitsAreFree, int ifFull) {
        generation.answered(START + 10);

        generation.countStalled(START + sentAt, START + silentSince, START + sentAt - 1);

        assertThat(generation.stalled(false)).isEqualTo(ifPermitsAreFree);
        assertThat(generation.stalled(true)).isEqualTo(ifFull);
    }

    @Test
    void countsACallOnceHoweverOftenItIsJudged() {
        stall(START + 2);
        generation.countStalled(START + 2, START + 3, START + 2);
        generation.countStalled(START + 2, START + 9, START + 3);

        assertThat(generation.stalled(true)).isOne();
    }

    @Test
    void countsACallAgainThatStillWaitsAfterAnAnswer() {
        stall(START + 2);
        generation.answered(START + 10);
        assertThat(generation.stalled(true)).isZero();

        generation.countStalled(START + 2, START + 9, START + 2);
        assertThat(generation.stalled(true)).as("the answer is recent").isZero();
        generation.countStalled(START + 2, START + 10, START + 9);
        generation.countStalled(START + 2, START + 11, START + 10);

        assertThat(generation.stalled(true)).isOne();
        assertThat(generation.stalled(false))
                .as("it was sent before the answer")
                .isZero();
    }

    @Test
    void anAnswerEndsTheStallOfAllCalls() {
        generation.answered(START + 10);
        stall(START + 12);
        generation.countStalled(START + 3, START + 12, START + 2);
        assertThat(generation.stalled(true)).isEqualTo(2);

        generation.answered(START + 20);

        assertThat(generation.stalled(true)).isZero();
    }

    @Test
    void owesAnAnswerSinceTheFirstStalledCallWasSent() {
        stall(START + 2);
        stall(START + 4);
        assertThat(generation.stalledNanos(START + 10)).isEqualTo(8);

        generation.answered(START + 10);
        stall(START + 12);
        assertThat(generation.stalledNanos(START + 20)).as("a new stall").isEqualTo(8);
    }

    @Test
    void owesAnAnswerToACallOfBeforeTheLastOneSinceThat() {
        generation.answered(START + 10);
        generation.countStalled(START + 3, START + 12, START + 2);
        stall(START + 13);

        assertThat(generation.stalledNanos(START + 20)).isEqualTo(10);
    }

    // ---------------------------------------------------------------- the answer that ended an opening

    @Test
    void fasterAnswersReplaceTheTimeOfTheAnswerThatEndedTheOpening() {
        Generation recovered = new Generation(START, 1500);
        recovered.answeredCallSentAt(START, START + 1500);
        recovered.answeredCallSentAt(START, START + 1900);
        assertThat(recovered.recoveryNanos())
                .as("slower answers change nothing")
                .isEqualTo(1500);

        recovered.answeredCallSentAt(START, START + 20);
        assertThat(recovered.recoveryNanos())
                .as("one answer may be a lucky one")
                .isEqualTo(1315);
        for (int i = 0; i < 20; i++) {
            recovered.answeredCallSentAt(START, START + 20);
        }
        assertThat(recovered.recoveryNanos()).isBetween(20L, 150L);
    }

    @Test
    void withoutAnOpeningThereIsNoSuchTime() {
        generation.answeredCallSentAt(START, START + 1500);
        assertThat(generation.recoveryNanos()).isZero();
    }
}
