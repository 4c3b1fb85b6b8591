package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import io.weir.drain.Drain;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CallerConnectionTest {

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final RecordingEdgeListener listener = new RecordingEdgeListener();
    private final CallerConnection connection = new CallerConnection(
            channel,
            EdgeRules.of(new TestEdgeProperties().properties(), new Drain(), listener, EdgeShedding.NONE),
            TestEdgeProperties.unlimitedClients(),
            null);
    private int timeouts;
    private int drained;

    @BeforeEach
    void guard() {
        channel.freezeTime();
        connection.setGuard(new CallerConnection.Guard() {
            @Override
            public void onTimeout() {
                timeouts++;
            }

            @Override
            public void drain() {
                drained++;
            }
        });
    }

    @AfterEach
    void finish() {
        channel.finishAndReleaseAll();
    }

    @Test
    void reportsAStalledHandshakeOnceAsATimeout() {
        connection.setGuard(null);
        connection.setTimeout(seconds(10));

        pass(10);
        connection.reportFailedHandshake(new ClosedChannelException());

        assertThat(channel.isOpen()).isFalse();
        assertThat(listener.handshakes).containsExactly(Handshake.TIMEOUT);
    }

    @Test
    void timesOutOnce() {
        connection.setTimeout(seconds(10));

        pass(9);
        assertThat(timeouts).isZero();
        pass(1);
        assertThat(timeouts).isEqualTo(1);
        pass(100);
        assertThat(timeouts).isEqualTo(1);
    }

    @Test
    void setTimeoutPostponesTheTimeout() {
        connection.setTimeout(seconds(10));
        pass(9);
        connection.setTimeout(seconds(10));

        pass(9);
        assertThat(timeouts).isZero();
        pass(1);
        assertThat(timeouts).isEqualTo(1);
    }

    @Test
    void setTimeoutAdvancesTheTimeout() {
        connection.setTimeout(seconds(75));
        connection.setTimeout(seconds(10));

        pass(10);
        assertThat(timeouts).isEqualTo(1);
        pass(100);
        assertThat(timeouts).isEqualTo(1);
    }

    @Test
    void cancelsAndSetsAgain() {
        connection.setTimeout(seconds(10));
        connection.cancelTimeout();
        pass(20);
        assertThat(timeouts).isZero();

        connection.setTimeout(seconds(10));
        pass(10);
        assertThat(timeouts).isEqualTo(1);
    }

    /** A busy connection costs one task, however often its timeout is postponed. */
    @Test
    void schedulesNoTaskToPostpone() {
        connection.setTimeout(seconds(75));
        long first = channel.runScheduledPendingTasks();

        for (int i = 0; i < 1000; i++) {
            connection.cancelTimeout();
            connection.setTimeout(seconds(75));
        }
        pass(74);
        connection.setTimeout(seconds(75));

        assertThat(channel.runScheduledPendingTasks()).isEqualTo(seconds(1));
        assertThat(first).isEqualTo(seconds(75));
        pass(1);
        assertThat(channel.runScheduledPendingTasks()).isEqualTo(seconds(74));
    }

    @Test
    void closedCancelsTheTask() {
        connection.setTimeout(seconds(10));
        connection.closed();

        assertThat(channel.runScheduledPendingTasks()).isEqualTo(-1);
        pass(20);
        assertThat(timeouts).isZero();
    }

    @Test
    void closesAConnectionWithoutGuard() {
        EmbeddedChannel handshaking = new EmbeddedChannel();
        handshaking.freezeTime();
        CallerConnection unguarded = new CallerConnection(
                handshaking,
                EdgeRules.of(new TestEdgeProperties().properties(), new Drain(), EdgeListener.NONE, EdgeShedding.NONE),
                TestEdgeProperties.unlimitedClients(),
                null);
        unguarded.setTimeout(seconds(10));

        handshaking.advanceTimeBy(10, TimeUnit.SECONDS);
        handshaking.runScheduledPendingTasks();

        assertThat(handshaking.isOpen()).isFalse();
    }

    @Test
    void drainsTheGuardOnTheEventLoop() {
        connection.drain();
        assertThat(drained).isZero();

        channel.runPendingTasks();
        assertThat(drained).isEqualTo(1);
    }

    private void pass(long seconds) {
        channel.advanceTimeBy(seconds, TimeUnit.SECONDS);
        channel.runScheduledPendingTasks();
    }

    private static long seconds(long seconds) {
        return TimeUnit.SECONDS.toNanos(seconds);
    }
}
