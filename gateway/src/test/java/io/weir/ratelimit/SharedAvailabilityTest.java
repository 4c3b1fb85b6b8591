package io.weir.ratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SharedAvailabilityTest {

    private final List<String> changes = new ArrayList<>();
    private final SharedAvailability availability =
            new SharedAvailability(why -> changes.add("lost: " + why), () -> changes.add("found"));

    private void fail(int times) {
        for (int i = 0; i < times; i++) {
            availability.failed("slow");
        }
    }

    @Test
    void beginsUnavailableWithoutAMessage() {
        assertThat(availability.isAvailable()).isFalse();
        availability.lost("refused");
        fail(10);
        assertThat(changes).isEmpty();
    }

    @Test
    void isLostAfterFiveFailuresInARow() {
        availability.answered();
        fail(4);
        assertThat(availability.isAvailable()).isTrue();
        fail(1);
        assertThat(availability.isAvailable()).isFalse();
        fail(100);
        assertThat(changes).containsExactly("found", "lost: slow");
    }

    @Test
    void staysWhileAnswersComeBetweenFailures() {
        availability.answered();
        for (int i = 0; i < 10; i++) {
            fail(4);
            availability.answered();
        }
        assertThat(availability.isAvailable()).isTrue();
        assertThat(changes).containsExactly("found");
    }

    @Test
    void isLostAtOnceWithItsConnectionAndFoundByTheNextAnswer() {
        availability.answered();
        availability.lost("the connection is lost");
        assertThat(availability.isAvailable()).isFalse();
        availability.answered();
        assertThat(availability.isAvailable()).isTrue();
        assertThat(changes).containsExactly("found", "lost: the connection is lost", "found");
    }
}
