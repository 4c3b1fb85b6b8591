package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.weir.testing.Leaks;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.slf4j.LoggerFactory;

/**
 * 20 000 exchanges through both doors, to each of which two things happen at once in a drawn phase of its life: nothing is lost, nothing is
 * held, nobody takes half an answer for a whole one, and each ends for a reason that was drawn. There are up to four times as many until every
 * pair has met in every phase in which it can, which a busy machine makes rarer.
 *
 * <p>{@code -Dstorm.seed=} draws the same again.
 */
@ExtendWith(Leaks.class)
@Timeout(600)
class StormIT {

    private static final Logger ROOT = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    private static final int EXCHANGES = Integer.getInteger("storm.exchanges", 20_000);

    @Test
    void givesBackWhateverHappensAtOnce() throws Exception {
        long seed = Long.getLong("storm.seed", System.nanoTime());
        System.out.printf("storm: -Dstorm.seed=%d, %d exchanges%n", seed, EXCHANGES);
        ListAppender<ILoggingEvent> complaints = new ListAppender<>();
        try (Storm storm = new Storm(seed)) {
            complaints.start();
            ROOT.addAppender(complaints);
            long began = System.nanoTime();
            storm.rage(EXCHANGES);
            System.out.printf(
                    "storm: %d exchanges in %d s%n%s%n",
                    storm.started(), (System.nanoTime() - began) / 1_000_000_000, storm.table());
            storm.assertComplete();
            storm.assertExplained();
            storm.gateway().assertNothingHeld();
            storm.gateway().assertNeighbourUnharmed();
            assertThat(List.copyOf(complaints.list))
                    .filteredOn(event -> event.getLevel().isGreaterOrEqual(Level.WARN))
                    .as("what callers and backends do is no news for the gateway's log")
                    .isEmpty();
        } finally {
            ROOT.detachAppender(complaints);
        }
    }
}
