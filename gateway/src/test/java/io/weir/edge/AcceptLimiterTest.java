package io.weir.edge;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MaxMessagesRecvByteBufAllocator;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AcceptLimiterTest {

    private final SwitchedShedding shedding = new SwitchedShedding();
    private final EmbeddedChannel socket = new EmbeddedChannel(new AcceptLimiter(shedding));

    AcceptLimiterTest() {
        socket.config().setRecvByteBufAllocator(AcceptLimiter.allocator());
    }

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

        socket.runScheduledPendingTasks();
        assertThat(socket.config().isAutoRead()).isTrue();
        assertThat(accepts()).isEqualTo(AcceptLimiter.AT_LEAST);
    }

    @Test
    void acceptsOneForEachMillisecondOfLongIterations() {
        socket.freezeTime();
        shedding.isOn = true;
        for (int millis : List.of(100, 30, 5000, 3)) {
            accept();
            socket.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
            socket.runScheduledPendingTasks();
            assertThat(accepts()).isEqualTo(Math.min(1000, Math.max(AcceptLimiter.AT_LEAST, millis)));
        }
    }

    @Test
    void acceptsAsUsualAfterwards() {
        shedding.isOn = true;
        accept();
        socket.runScheduledPendingTasks();
        shedding.isOn = false;
        accept();

        assertThat(socket.config().isAutoRead()).isTrue();
        assertThat(accepts()).isEqualTo(16);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void acceptsSeveralConnectionsInOneIteration(boolean sheds) throws Exception {
        shedding.isOn = sheds;
        EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
        try {
            AcceptCounter counter = new AcceptCounter();
            ServerBootstrap server = new ServerBootstrap()
                    .group(loop)
                    .channel(EpollServerSocketChannel.class)
                    .option(ChannelOption.RECVBUF_ALLOCATOR, AcceptLimiter.allocator())
                    .childHandler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel connection) {}
                    });
            Channel listening =
                    server.bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            listening.pipeline().addFirst(counter, new AcceptLimiter(shedding));
            CountDownLatch busy = new CountDownLatch(1);
            CountDownLatch isBusy = new CountDownLatch(1);
            Future<?> blocked = loop.submit(() -> {
                isBusy.countDown();
                return busy.await(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            });
            // Before it, the event loop would accept connections without the handlers.
            isBusy.await();
            List<Socket> callers = new ArrayList<>();
            int port = ((InetSocketAddress) listening.localAddress()).getPort();
            for (int i = 0; i < 40; i++) {
                callers.add(new Socket(InetAddress.getLoopbackAddress(), port));
            }
            busy.countDown();
            await().untilAsserted(() -> assertThat(counter.accepted.get()).isEqualTo(40));
            assertThat(counter.most.get()).isBetween(AcceptLimiter.AT_LEAST, 40);
            assertThat(blocked.get()).isEqualTo(true);
            for (Socket caller : callers) {
                caller.close();
            }
        } finally {
            loop.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        }
    }

    /** Counts the connections that are accepted before the next iteration. */
    private static final class AcceptCounter extends ChannelInboundHandlerAdapter {

        private final AtomicInteger accepted = new AtomicInteger();
        private final AtomicInteger most = new AtomicInteger();
        private int batch;

        @Override
        public void channelRead(ChannelHandlerContext context, Object connection) {
            batch++;
            accepted.incrementAndGet();
            context.fireChannelRead(connection);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            most.accumulateAndGet(batch, Math::max);
            batch = 0;
            context.fireChannelReadComplete();
        }
    }

    private void accept() {
        socket.pipeline().fireChannelReadComplete();
    }

    private int accepts() {
        return ((MaxMessagesRecvByteBufAllocator) socket.config().getRecvByteBufAllocator()).maxMessagesPerRead();
    }
}
