package io.weir.perf.scenario;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Thousands of connections that send prepared bytes, on one event loop: callers that are slow, or that flood
 * the server. Each connection sends its first bytes at once, and more at each interval, whatever the server
 * answers. A connection that the server closes is opened again.
 *
 * <p>Concurrency: all state is confined to the event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write closes its channel; no task throws.
final class RawCallers implements AutoCloseable {

    /** The source address of these callers. Others have another one. */
    static final String ADDRESS = "127.0.0.2";

    private static final int SLOW_READ_BYTES = 1024;
    private static final String STATUS_LINE = "HTTP/1.1 ";
    private static final int STATUS_LENGTH = 3;

    /**
     * What each connection does.
     *
     * @param first the bytes that it sends first; may be empty
     * @param next the bytes that it sends at each interval; may be empty
     * @param isReading whether it reads all that comes, and not {@value #SLOW_READ_BYTES} bytes an interval
     * @param pause between its end and the next connection
     */
    record Behaviour(ByteBuf first, ByteBuf next, Duration interval, boolean isReading, Duration pause) {

        static Behaviour of(byte[] first, byte[] next, Duration interval, boolean isReading, Duration pause) {
            return new Behaviour(shared(first), shared(next), interval, isReading, pause);
        }

        /** Bytes for all connections. */
        private static ByteBuf shared(byte[] bytes) {
            ByteBuf direct = Unpooled.directBuffer(Math.max(1, bytes.length));
            return Unpooled.unreleasableBuffer(direct.writeBytes(bytes));
        }
    }

    /**
     * An open connection.
     *
     * @param intervals the task of its intervals
     * @param isFirst whether it is one of those with which the callers began
     */
    private record Connection(long openedAt, Future<?> intervals, boolean isFirst) {}

    /**
     * What has happened so far.
     *
     * @param open the connections that are open now
     * @param ended the connections that the server has ended
     * @param endedFirst those of them with which the callers began
     * @param failed the connections that were not established
     * @param sent how often a connection has sent the bytes of an interval
     * @param unsent how often it could not, since the server did not read
     * @param answers the reads that began with a status, by status
     * @param longestSeconds the longest time for which a connection has stayed open
     */
    record Counts(
            int open,
            long ended,
            long endedFirst,
            long failed,
            long sent,
            long unsent,
            Map<String, Long> answers,
            double longestSeconds) {}

    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Behaviour behaviour;
    private final Bootstrap bootstrap;
    private final Map<Channel, Connection> open = new HashMap<>();
    private final Map<String, Long> answers = new TreeMap<>();
    private final int connections;
    private long established;
    private long ended;
    private long endedFirst;
    private long failed;
    private long sent;
    private long unsent;
    private long longestNanos;
    private boolean isClosing;

    private RawCallers(int port, Behaviour behaviour, int connections) {
        this.behaviour = behaviour;
        this.connections = connections;
        this.bootstrap = new Bootstrap()
                .group(loop)
                .channel(NioSocketChannel.class)
                .localAddress(new InetSocketAddress(ADDRESS, 0))
                .remoteAddress("127.0.0.1", port)
                // A reset leaves no port in TIME_WAIT.
                .option(ChannelOption.SO_LINGER, 0)
                .option(ChannelOption.AUTO_READ, behaviour.isReading())
                .handler(new Handler());
        if (!behaviour.isReading()) {
            bootstrap
                    .option(ChannelOption.SO_RCVBUF, SLOW_READ_BYTES)
                    .option(
                            ChannelOption.RECVBUF_ALLOCATOR,
                            new FixedRecvByteBufAllocator(SLOW_READ_BYTES).maxMessagesPerRead(1));
        }
    }

    /** Opens connections at a rate per second. */
    static RawCallers start(int port, Behaviour behaviour, int connections, int perSecond) {
        RawCallers callers = new RawCallers(port, behaviour, connections);
        for (int i = 0; i < connections; i++) {
            long due = i * (TimeUnit.SECONDS.toNanos(1) / perSecond);
            callers.loop.schedule(callers::connect, due, TimeUnit.NANOSECONDS);
        }
        return callers;
    }

    Counts counts() {
        return onLoop(() -> {
            long longest = open.values().stream()
                    .mapToLong(one -> System.nanoTime() - one.openedAt)
                    .reduce(longestNanos, Math::max);
            return new Counts(
                    open.size(), ended, endedFirst, failed, sent, unsent, new TreeMap<>(answers), longest / 1e9);
        });
    }

    private <T> T onLoop(Callable<T> task) {
        return loop.submit(task).syncUninterruptibly().getNow();
    }

    private void connect() {
        if (!isClosing) {
            bootstrap.connect().addListener(established -> {
                if (!established.isSuccess()) {
                    failed++;
                    connectLater();
                }
            });
        }
    }

    private void connectLater() {
        if (!isClosing) {
            // Not all at once.
            double nanos = behaviour.pause.toNanos()
                    * (0.5 + ThreadLocalRandom.current().nextDouble());
            loop.schedule(this::connect, (long) nanos, TimeUnit.NANOSECONDS);
        }
    }

    private void send(Channel channel, ByteBuf bytes) {
        if (bytes.isReadable() && channel.isWritable()) {
            channel.writeAndFlush(bytes.duplicate());
        }
    }

    private void act(Channel channel) {
        if (behaviour.next.isReadable()) {
            if (channel.isWritable()) {
                sent++;
            } else {
                unsent++;
            }
            send(channel, behaviour.next);
        }
        if (!behaviour.isReading) {
            channel.read();
        }
    }

    /** Resets all connections. */
    @Override
    public void close() {
        if (loop.isShuttingDown()) {
            return;
        }
        onLoop(() -> {
            isClosing = true;
            List.copyOf(open.keySet()).forEach(Channel::close);
            return 0;
        });
        loop.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Sharable
    private final class Handler extends ChannelInboundHandlerAdapter {

        @Override
        public void channelActive(ChannelHandlerContext context) {
            Channel channel = context.channel();
            if (isClosing) {
                channel.close();
                return;
            }
            long interval = behaviour.interval.toNanos();
            long phase = ThreadLocalRandom.current().nextLong(interval);
            Future<?> intervals = behaviour.next.isReadable() || !behaviour.isReading
                    ? loop.scheduleAtFixedRate(() -> act(channel), phase, interval, TimeUnit.NANOSECONDS)
                    : loop.next().newSucceededFuture(0);
            open.put(channel, new Connection(System.nanoTime(), intervals, established++ < connections));
            send(channel, behaviour.first);
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ByteBuf bytes = (ByteBuf) message;
            int length = STATUS_LINE.length() + STATUS_LENGTH;
            // Of an answer's body no byte is this letter.
            if (bytes.readableBytes() >= length && bytes.getByte(bytes.readerIndex()) == 'H') {
                String line = bytes.toString(bytes.readerIndex(), length, StandardCharsets.US_ASCII);
                if (line.startsWith(STATUS_LINE)) {
                    answers.merge(line.substring(STATUS_LINE.length()), 1L, Long::sum);
                }
            }
            bytes.release();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            Connection connection = open.remove(context.channel());
            if (connection != null) {
                connection.intervals.cancel(false);
                longestNanos = Math.max(longestNanos, System.nanoTime() - connection.openedAt);
            }
            if (!isClosing) {
                ended++;
                if (connection != null && connection.isFirst) {
                    endedFirst++;
                }
                connectLater();
            }
        }
    }
}
