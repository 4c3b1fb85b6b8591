package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.weir.testing.Leaks;
import io.weir.testing.Tier;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.slf4j.LoggerFactory;

/**
 * At least 1000 exchanges through both doors, in the full tier 2000. Two random events hit each exchange at
 * the same time, in a random phase. A fifth of the exchanges goes to backends that violate HTTP. No resource
 * may be lost or held, no caller may get the answer to another request or take a broken answer for a complete
 * one, and each exchange must end for one of its events. The test runs up to ten times as many
 * exchanges until every possible event has occurred in every phase, in the full tier until every possible
 * pair of events has met there. Half of the exchanges that no event of all hits seek a missing pair.
 *
 * <p>{@code -Dstorm.seed=} repeats the random choices; {@code -Dstorm.exchanges=} changes their number.
 */
@ExtendWith(Leaks.class)
class StormIT {

    private static final Logger ROOT = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    private static final int EXCHANGES = Integer.getInteger("storm.exchanges", Tier.choose(1_000, 2_000));

    @Test
    void releasesEverythingIfTwoEventsMeet() throws Exception {
        long seed = Long.getLong("storm.seed", System.nanoTime());
        System.out.printf("storm: -Dstorm.seed=%d, %d exchanges%n", seed, EXCHANGES);
        ListAppender<ILoggingEvent> warnings = new ListAppender<>();
        try (Storm storm = new Storm(seed)) {
            warnings.start();
            ROOT.addAppender(warnings);
            long startedAt = System.nanoTime();
            Supplier<List<String>> missing = Tier.isFull() ? storm::missingPairs : storm::missingEvents;
            storm.run(EXCHANGES, missing);
            System.out.printf(
                    "storm: %d exchanges in %d s%n%s%n",
                    storm.started(), (System.nanoTime() - startedAt) / 1_000_000_000, storm.table());
            storm.assertExplained();
            assertThat(missing.get()).as("events or pairs that did not occur").isEmpty();
            storm.gateway().assertNothingHeld();
            storm.gateway().assertNeighbourUnharmed();
            assertThat(List.copyOf(warnings.list))
                    .filteredOn(event -> event.getLevel().isGreaterOrEqual(Level.WARN))
                    // True: the storm leaves calls unanswered, and chance leaves several of one route.
                    .filteredOn(event -> !event.getFormattedMessage().contains(" hangs, no answer to "))
                    // True: of the backends that send more than their answers, once for each kind.
                    .filteredOn(event -> !event.getFormattedMessage().contains("weir_backend_violations_total"))
                    .as("warnings in the gateway's log about callers and backends")
                    .isEmpty();
        } finally {
            ROOT.detachAppender(warnings);
        }
    }
}
