package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ChildTest {

    @Test
    void saysWhatItSaid() throws Exception {
        try (Child child = Child.start("speaker", List.of("sh", "-c", "echo $WORD; exit 3"), Map.of("WORD", "hello"))) {
            assertThat(child.awaitExit()).isEqualTo(3);
            assertThat(child.said()).isEqualTo("hello\n");
        }
    }

    @Test
    void endsWithItsLastWordsIfItIsNeverReady() throws Exception {
        try (Child child = Child.start("broken", List.of("sh", "-c", "echo out of order; exit 3"), Map.of())) {
            assertThatThrownBy(() -> child.await("is ready", () -> false))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("broken does not start")
                    .hasMessageContaining("out of order");
        }
    }

    @Test
    void doesNotSayThatItUsedNothingWhereNobodyKnows() throws Exception {
        try (Child child = Child.start("brief", List.of("true"), Map.of())) {
            child.awaitExit();

            assertThatThrownBy(child::used)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("brief: its processor time is not known");
        }
    }

    @Test
    void isEndedWhenItIsClosed() throws Exception {
        Child child = Child.start("sleeper", List.of("sleep", "600"), Map.of());
        assertThat(child.alive()).isTrue();

        child.close();

        assertThat(child.alive()).isFalse();
    }
}
