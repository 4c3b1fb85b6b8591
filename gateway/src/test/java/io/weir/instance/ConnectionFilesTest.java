package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;

class ConnectionFilesTest {

    private static final int LIMIT = 40;
    private static final int MANY = 1000;

    private final ConnectionFiles files = new ConnectionFiles(LIMIT, 160, () -> 0);

    private BoundedAllocation pool(int limit) {
        return pool(limit, UpstreamProtocol.HTTP1);
    }

    private BoundedAllocation pool(int limit, UpstreamProtocol protocol) {
        files.poolOpened();
        return new BoundedAllocation(new AtomicInteger(limit), files.share(protocol));
    }

    @Test
    void onePoolTakesThreeQuartersAndLeavesTheirPartsToTheOthers() {
        BoundedAllocation hanging = pool(MANY);
        BoundedAllocation second = pool(MANY);
        BoundedAllocation third = pool(MANY);

        assertThat(hanging.getPermits(MANY)).isEqualTo(30);
        assertThat(files.isShort()).isTrue();
        assertThat(hanging.getPermits(1)).isZero();
        assertThat(hanging.estimatePermitCount()).isZero();
        assertThat(second.estimatePermitCount()).isEqualTo(3);
        assertThat(second.getPermits(MANY)).isEqualTo(3);
        assertThat(third.getPermits(1)).isOne();
        assertThat(third.getPermits(MANY)).isEqualTo(2);
        assertThat(files.used()).isEqualTo(36);
    }

    @Test
    void aPoolWithoutAConnectionGetsOneWhereTheirPartsAreSmallerThanOne() {
        BoundedAllocation hanging = pool(MANY);
        for (int i = 0; i < LIMIT; i++) {
            files.poolOpened();
        }
        hanging.getPermits(MANY);

        BoundedAllocation other = pool(MANY);

        assertThat(other.getPermits(1)).isOne();
        assertThat(other.getPermits(1)).isZero();
    }

    @Test
    void neverExceedsItsLimit() {
        for (int i = 0; i < LIMIT; i++) {
            pool(MANY).getPermits(MANY);
        }
        for (int i = 0; i < LIMIT; i++) {
            pool(MANY).getPermits(1);
        }

        assertThat(files.used()).isEqualTo(LIMIT);
    }

    @Test
    void aClosedConnectionMakesRoomForOneOfAnotherPool() {
        BoundedAllocation first = pool(MANY);
        BoundedAllocation second = pool(MANY);
        first.getPermits(MANY);
        second.getPermits(MANY);
        assertThat(second.getPermits(1)).isZero();

        first.returnPermits(1);
        assertThat(first.permitGranted()).isEqualTo(29);
        assertThat(files.used()).isEqualTo(34);

        first.returnPermits(6);
        assertThat(second.getPermits(1)).isOne();
        assertThat(files.isShort()).isFalse();
    }

    @Test
    void aClosedPoolLeavesItsPartToTheOthers() {
        BoundedAllocation hanging = pool(MANY);
        BoundedAllocation other = pool(MANY);
        files.poolOpened();
        files.poolOpened();
        hanging.getPermits(MANY);
        assertThat(other.estimatePermitCount()).isEqualTo(2);

        files.poolClosed();
        files.poolClosed();

        assertThat(other.estimatePermitCount()).isEqualTo(5);
    }

    @ParameterizedTest
    @EnumSource(UpstreamProtocol.class)
    void thePoolsOwnLimitCountsToo(UpstreamProtocol protocol) {
        BoundedAllocation pool = pool(3, protocol);

        assertThat(pool.getPermits(1)).isOne();
        assertThat(pool.getPermits(MANY)).isEqualTo(2);
        assertThat(pool.getPermits(1)).isZero();
        assertThat(files.isShort()).isFalse();
    }

    @Test
    void reportsOnceThatTheLimitsExceedTheFiles() {
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger logger = (Logger) LoggerFactory.getLogger(ConnectionFiles.class);
        logger.addAppender(log);
        try {
            files.compare(LIMIT);
            files.compare(4522);
            files.compare(4522);
        } finally {
            logger.detachAppender(log);
        }

        assertThat(log.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("Connections to backends: at most 40 at once, the backends' share of ulimit -n 160;"
                        + " their limits allow 4522. Calls that need more are refused with gateway-overloaded");
    }
}
