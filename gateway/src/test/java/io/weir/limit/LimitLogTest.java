package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.weir.limit.Limit.Beliefs;
import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class LimitLogTest {

    private static final long MILLI = 1_000_000;
    private static final long DEADLINE = 800 * MILLI;

    private final Logger logger = (Logger) LoggerFactory.getLogger(LimitLog.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    private long now;
    private final LimitInForce limit = new LimitInForce(
            new QueueingBulkhead(1, 0),
            LimitSettings.adaptive(new LimitBounds(2, 30, 8), LimitSettings.AUTO, DEADLINE),
            () -> now,
            () -> 0);

    @BeforeEach
    void listen() {
        limit.onLearnt(new LimitLog("orders", limit, () -> now)::changed);
        lines.start();
        logger.addAppender(lines);
        logger.setLevel(Level.DEBUG);
    }

    @AfterEach
    void stopListening() {
        logger.detachAppender(lines);
        logger.setLevel(null);
    }

    @Test
    void logsEachChangeOnceAtDebug() {
        serve(100, 50, Evidence.ANSWERED);

        List<String> changes = messages(Level.DEBUG);
        assertThat(changes.getFirst())
                .isEqualTo(
                        "Limit of backend orders: 8 -> 30 (growth; base latency 50 ms, 160 answers/s, utilisation 100 %)");
        assertThat(changes).anyMatch(line -> line.startsWith("Limit of backend orders: 30 -> 15 (probe;"));
        for (int i = 1; i < changes.size(); i++) {
            String before = changes.get(i - 1).replaceFirst(".*-> ([0-9]+) .*", "$1");
            assertThat(changes.get(i)).startsWith("Limit of backend orders: " + before + " -> ");
        }
    }

    @Test
    void logsTheEndOfAProbeAsSuch() {
        serve(1, 50, Evidence.ANSWERED);
        serve(20, 800, Evidence.TIMED_OUT);
        serve(80, 50, Evidence.ANSWERED);

        assertThat(messages(Level.DEBUG))
                .anyMatch(line -> line.startsWith("Limit of backend orders: 15 -> 30 (the probe is over;"));
    }

    @Test
    void logsThatTheLimitReachedItsCeilingOnce() {
        serve(100, 50, Evidence.ANSWERED);

        assertThat(limit.limit().value()).isEqualTo(30);
        assertThat(messages(Level.INFO)).containsExactly("Limit of backend orders reached its ceiling, 30 (growth)");
    }

    @Test
    void logsThatTheLimitReachedItsFloor() {
        serve(20, 800, Evidence.TIMED_OUT);

        assertThat(limit.limit().value()).isEqualTo(2);
        assertThat(messages(Level.INFO)).containsExactly("Limit of backend orders reached its floor, 2 (timeouts)");
    }

    @Test
    void logsALimitThatSwingsAtMostOnceInFiveMinutes() {
        for (int i = 0; i < 6; i++) {
            serve(20, 800, Evidence.TIMED_OUT);
            serve(40, 50, Evidence.ANSWERED);
        }
        assertThat(messages(Level.INFO)).hasSize(1);

        now += TimeUnit.MINUTES.toNanos(LimitLog.INTERVAL_MINUTES);
        serve(20, 800, Evidence.TIMED_OUT);

        assertThat(messages(Level.INFO)).hasSize(2);
        assertThat(messages(Level.INFO).getLast())
                .matches(".*floor, 2 \\(timeouts\\); [0-9]+ times more since the last line");
    }

    @Test
    void namesNoDecisionWhereTheBoundsHaveMovedTheLimit() {
        serve(20, 800, Evidence.TIMED_OUT);
        lines.list.clear();
        now += TimeUnit.MINUTES.toNanos(LimitLog.INTERVAL_MINUTES);

        limit.configure(LimitSettings.adaptive(new LimitBounds(5, 30, 8), LimitSettings.AUTO, DEADLINE));
        limit.configure(LimitSettings.adaptive(new LimitBounds(1, 3, 2), LimitSettings.AUTO, DEADLINE));

        String reason = "the bounds, or the instances that take calls";
        assertThat(messages(Level.DEBUG))
                .satisfiesExactly(
                        raised -> assertThat(raised).startsWith("Limit of backend orders: 2 -> 5 (" + reason + ";"),
                        lowered -> assertThat(lowered).startsWith("Limit of backend orders: 5 -> 3 (" + reason + ";"));
        assertThat(messages(Level.INFO)).isEmpty();
    }

    @Test
    void namesBothDecisionsOfOneMoment() {
        Decisions decisions = new Decisions();
        LimitInForce decided = new LimitInForce(new QueueingBulkhead(8, 0), decisions);
        LimitLog log = new LimitLog("orders", decided, () -> now);

        decisions.decide(20, Change.GROWTH);
        log.changed();
        decisions.decide(2, Change.TIMEOUTS);
        log.changed();

        assertThat(messages(Level.DEBUG))
                .satisfiesExactly(
                        grown -> assertThat(grown).startsWith("Limit of backend orders: 8 -> 20 (growth;"),
                        lowered -> assertThat(lowered).startsWith("Limit of backend orders: 20 -> 2 (timeouts;"));
        assertThat(messages(Level.INFO)).containsExactly("Limit of backend orders reached its floor, 2 (timeouts)");
    }

    private List<String> messages(Level level) {
        return lines.list.stream()
                .filter(line -> line.getLevel() == level)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    /** Rounds in which as many calls as the limit allows are sent together and end together. */
    private void serve(int rounds, long latencyMillis, Evidence evidence) {
        Limit learning = limit.limit();
        for (int round = 0; round < rounds; round++) {
            int calls = learning.value();
            int[] marks = new int[calls];
            for (int i = 0; i < calls; i++) {
                marks[i] = learning.started(now, i + 1);
            }
            now += latencyMillis * MILLI;
            for (int i = 0; i < calls; i++) {
                learning.ended(now, marks[i], latencyMillis * MILLI, evidence, calls);
            }
        }
    }

    /** A limit whose decisions the test makes, all of them at one moment. */
    private static final class Decisions implements Limit {

        private Beliefs beliefs = new Beliefs(8, 0, 0, 0, Change.INITIAL, 1_000, 0);

        void decide(int next, Change why) {
            beliefs = new Beliefs(next, 0, 0, 0, why, 2_000, beliefs.decisions() + 1);
        }

        @Override
        public int value() {
            return beliefs.limit();
        }

        @Override
        public int started(long nowNanos, int inUse) {
            return 0;
        }

        @Override
        public void ended(long nowNanos, int mark, long latencyNanos, Evidence evidence, int inUse) {}

        @Override
        public Beliefs beliefs() {
            return beliefs;
        }

        @Override
        public long changes(Change reason) {
            return 0;
        }
    }
}
