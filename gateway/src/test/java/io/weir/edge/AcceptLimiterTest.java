package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.MaxMessagesRecvByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class AcceptLimiterTest {

    private final SwitchedShedding shedding = new SwitchedShedding();
    private final EmbeddedChannel socket = new EmbeddedChannel(new AcceptLimiter(shedding));
    private final int usual = accepts();

    @AfterEach
    void close() {
        socket.finishAndReleaseAll();
    }

    @Test
    void pausesUntilTheNextIterationWhileTheGatewaySheds() {
        socket.freezeTime();
        accept();
        assertThat(socket.config().isAutoRead()).isTrue();

        shedding.isOn = true;
        accept();
        assertThat(socket.config().isAutoRead()).isFalse();
        assertThat(accepts()).isEqualTo(Math.min(usual, AcceptLimiter.PER_ITERATION));

        socket.runScheduledPendingTasks();
        assertThat(socket.config().isAutoRead()).isTrue();
    }

    @Test
    void acceptsAsUsualAfterwards() {
        shedding.isOn = true;
        accept();
        socket.runScheduledPendingTasks();
        shedding.isOn = false;
        accept();

        assertThat(socket.config().isAutoRead()).isTrue();
        assertThat(accepts()).isEqualTo(usual);
    }

    private void accept() {
        socket.pipeline().fireChannelReadComplete();
    }

    private int accepts() {
        return ((MaxMessagesRecvByteBufAllocator) socket.config().getRecvByteBufAllocator()).maxMessagesPerRead();
    }
}
