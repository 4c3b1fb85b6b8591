package io.weir.drain;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.drain.Drain.Phase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

class DrainerTest {

    private static final DrainProperties PROPERTIES =
            new DrainProperties(Duration.ofSeconds(5), Duration.ofSeconds(15));

    private final Drain drain = new Drain();
    private final List<String> events = new ArrayList<>();
    private final FakeTraffic traffic = new FakeTraffic();
    private long nowNanos;

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void logsDurationsAsFilesSpellThem(CapturedOutput output) {
        traffic.endsAt(Duration.ofHours(1));

        drainer().run();

        assertThat(output).contains("serving for 5s", "in flight after 15s");
    }

    @Test
    void announcesBeforeItRefusesNewWork() {
        drainer().run();
        assertThat(events).containsExactly("announced in ANNOUNCED at 0s", "streams closed at 5s", "drained at 5s");
        assertThat(drain.phase()).isEqualTo(Phase.REFUSING);
    }

    @Test
    void waitsForWorkInFlight() {
        traffic.endsAt(Duration.ofSeconds(12));
        drainer().run();
        assertThat(events).containsExactly("announced in ANNOUNCED at 0s", "streams closed at 5s", "drained at 12s");
    }

    @Test
    void endsWorkInFlightAfterTheTimeout() {
        traffic.endsAt(Duration.ofHours(1));
        drainer().run();
        assertThat(events)
                .containsExactly(
                        "announced in ANNOUNCED at 0s", "streams closed at 5s", "all ended at 20s", "drained at 20s");
    }

    @Test
    void exitsEvenIfWorkInFlightDoesNotEnd() {
        traffic.endsAt(Duration.ofHours(1));
        traffic.ignoresEndAll = true;
        drainer().run();
        assertThat(events)
                .containsExactly(
                        "announced in ANNOUNCED at 0s", "streams closed at 5s", "all ended at 20s", "drained at 21s");
    }

    private Drainer drainer() {
        Drainer.Listener listener = new Drainer.Listener() {
            @Override
            public void announced() {
                note("announced in " + drain.phase());
            }

            @Override
            public void drained() {
                note("drained");
            }
        };
        return new Drainer(drain, PROPERTIES, traffic, listener, () -> nowNanos, time -> nowNanos += time.toNanos());
    }

    private void note(String event) {
        events.add(event + " at " + Duration.ofNanos(nowNanos).toSeconds() + "s");
    }

    private final class FakeTraffic implements Drainer.Traffic {

        private long endsAtNanos;
        private boolean ignoresEndAll;

        void endsAt(Duration time) {
            endsAtNanos = time.toNanos();
        }

        @Override
        public int inFlight() {
            return nowNanos < endsAtNanos ? 1 : 0;
        }

        @Override
        public int streams() {
            return 0;
        }

        @Override
        public void closeStreams() {
            note("streams closed");
        }

        @Override
        public void endAll() {
            note("all ended");
            if (!ignoresEndAll) {
                endsAtNanos = 0;
            }
        }
    }
}
