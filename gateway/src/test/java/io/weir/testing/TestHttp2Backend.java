package io.weir.testing;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2GoAwayFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A backend over HTTP/2 by prior knowledge that opens WebSockets (RFC 8441) and then sends exactly the bytes
 * and frames of the test. Each stream has a thread.
 */
@SuppressWarnings("FutureReturnValueIgnored") // The gateway's side shows the result.
public final class TestHttp2Backend implements AutoCloseable {

    /** What a stream does after its head. */
    @FunctionalInterface
    public interface Behaviour {

        void serve(Stream stream) throws Exception;
    }

    private static final byte[] END = {};
    private static final byte[] RESET = {};

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final AtomicInteger connections = new AtomicInteger();
    private final Channel listening;
    private volatile Behaviour behaviour = Stream::end;
    private volatile boolean readsBodies = true;

    /** Starts a backend on a free port. */
    public TestHttp2Backend() {
        listening = new ServerBootstrap()
                .group(loops)
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel connection) {
                        connections.incrementAndGet();
                        Http2Settings settings = Http2Settings.defaultSettings().connectProtocolEnabled(true);
                        connection
                                .pipeline()
                                .addLast(Http2FrameCodecBuilder.forServer()
                                        .initialSettings(settings)
                                        .encoderIgnoreMaxHeaderListSize(true)
                                        .encoderEnforceMaxRstFramesPerWindow(0, 0)
                                        .build())
                                .addLast(new Http2MultiplexHandler(new ChannelInitializer<>() {
                                    @Override
                                    protected void initChannel(Channel stream) {
                                        stream.config().setAutoRead(readsBodies);
                                        stream.pipeline().addLast(new Stream());
                                    }
                                }))
                                .addLast(new ChannelInboundHandlerAdapter() {
                                    @Override
                                    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
                                        // The gateway may reset the connection at any time.
                                        context.close();
                                    }
                                });
                    }
                })
                .bind("127.0.0.1", 0)
                .syncUninterruptibly()
                .channel();
    }

    /** Sets the behaviour of streams that open from now on. */
    public void behave(Behaviour next) {
        behaviour = next;
    }

    /**
     * Whether streams that open from now on read the requests' bodies. One that does not gives no window
     * back, neither its own nor the connection's.
     */
    public void readBodies(boolean reads) {
        readsBodies = reads;
    }

    /** The address, as a backend's {@code uri}. */
    public String uri() {
        return "http://127.0.0.1:" + ((InetSocketAddress) listening.localAddress()).getPort();
    }

    /** The connections that the gateway has opened. */
    public int connections() {
        return connections.get();
    }

    @Override
    public void close() {
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** A request, and what its peer sends and receives after it. */
    public final class Stream extends ChannelInboundHandlerAdapter {

        private final BlockingQueue<byte[]> received = new LinkedBlockingQueue<>();
        private volatile Channel channel;
        private volatile Http2Headers head;
        private byte[] current = {};
        private int read;

        @Override
        public void channelActive(ChannelHandlerContext context) {
            if (!context.channel().config().isAutoRead()) {
                // The head alone.
                context.read();
            }
            context.fireChannelActive();
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (message instanceof Http2HeadersFrame frame) {
                channel = context.channel();
                head = frame.headers();
                Thread.ofVirtual().start(this::serve);
            } else if (message instanceof Http2DataFrame data) {
                byte[] bytes = new byte[data.content().readableBytes()];
                data.content().readBytes(bytes);
                if (bytes.length > 0) {
                    received.add(bytes);
                }
                if (data.isEndStream()) {
                    received.add(END);
                }
            }
            ReferenceCountUtil.release(message);
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (event instanceof Http2ResetFrame) {
                received.add(RESET);
            }
            context.fireUserEventTriggered(event);
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            received.add(END);
        }

        private void serve() {
            try {
                behaviour.serve(this);
            } catch (Exception e) {
                throw new AssertionError("a backend's behaviour failed", e);
            }
        }

        /** The request's head. */
        public Http2Headers head() {
            return head;
        }

        /** Answers the handshake, and opens the WebSocket. */
        public TestWebSocket accept() {
            return accept(new DefaultHttp2Headers());
        }

        /** Answers the handshake with a subprotocol, and opens the WebSocket. */
        public TestWebSocket accept(String subprotocol) {
            return accept(new DefaultHttp2Headers().set("sec-websocket-protocol", subprotocol));
        }

        private TestWebSocket accept(Http2Headers answer) {
            channel.writeAndFlush(new DefaultHttp2HeadersFrame(answer.status("200"), false));
            return TestWebSocket.ofBackend(new Received(), new Sent());
        }

        /** Reads the request's body; false: it has no end. */
        public boolean isReadToItsEnd() {
            try {
                new Received().readAllBytes();
                return true;
            } catch (IOException e) {
                return false;
            }
        }

        /** Answers without a body. */
        public void answer(int status) {
            Http2Headers answer = new DefaultHttp2Headers().status(Integer.toString(status));
            channel.writeAndFlush(new DefaultHttp2HeadersFrame(answer, true));
        }

        /** Begins an answer that announces a length, and ends it if {@code ends}. */
        public void announce(int status, int length, boolean ends) {
            Http2Headers answer =
                    new DefaultHttp2Headers().status(Integer.toString(status)).setInt("content-length", length);
            begin(answer, ends);
        }

        /** Begins an answer with these fields, and ends it if {@code ends}. */
        public void begin(Http2Headers answer, boolean ends) {
            channel.writeAndFlush(new DefaultHttp2HeadersFrame(answer, ends));
        }

        /**
         * Sends a whole answer at once, so that it is read at once. The length that it announces may be
         * wrong.
         */
        public void answer(int status, int length, byte... body) {
            Http2Headers answer =
                    new DefaultHttp2Headers().status(Integer.toString(status)).setInt("content-length", length);
            channel.write(new DefaultHttp2HeadersFrame(answer, false));
            if (body.length > 0) {
                channel.write(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(body), false));
            }
            end();
        }

        /** Sends a head with a field of many bytes. */
        public void begin(int status, int fieldBytes) {
            Http2Headers answer = new DefaultHttp2Headers().status(Integer.toString(status));
            channel.writeAndFlush(new DefaultHttp2HeadersFrame(answer.set("large", "x".repeat(fieldBytes)), false));
        }

        /** Ends the stream with trailers, which have a field of many bytes. */
        public void trailers(int fieldBytes) {
            Http2Headers trailers = new DefaultHttp2Headers().set("large", "x".repeat(fieldBytes));
            channel.writeAndFlush(new DefaultHttp2HeadersFrame(trailers, true));
        }

        /** Waits for a part of the request's body. */
        public void awaitBody() throws IOException {
            new Received().read();
        }

        /** Sends bytes in one DATA frame. */
        public void write(byte... bytes) {
            channel.writeAndFlush(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(bytes), false));
        }

        /** Ends the stream in order, with END_STREAM. */
        public void end() {
            channel.writeAndFlush(new DefaultHttp2DataFrame(Unpooled.EMPTY_BUFFER, true));
        }

        /** Answers completely, and resets the stream as soon as the answer is sent. */
        public void answerAndReset(int status, byte[] body, Http2Error error) {
            answerAndReset(
                    new DefaultHttp2Headers().status(Integer.toString(status)).setInt("content-length", body.length),
                    body,
                    error);
        }

        /** Answers completely with these fields, and resets the stream as soon as the answer is sent. */
        public void answerAndReset(Http2Headers answer, byte[] body, Http2Error error) {
            channel.write(new DefaultHttp2HeadersFrame(answer, false));
            // A reset overtakes a body that waits for its flush.
            channel.writeAndFlush(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(body), true))
                    .addListener(_ -> reset(error));
        }

        /** Resets the stream. */
        public void reset(Http2Error error) {
            channel.writeAndFlush(new DefaultHttp2ResetFrame(error));
        }

        /** Announces that the connection accepts no further streams; the open ones go on. */
        public void goAway() {
            channel.parent().writeAndFlush(new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR));
        }

        /** Reads nothing from the connection any more: no request, and no PING. */
        public void stopReading() {
            channel.parent().config().setAutoRead(false);
        }

        /** Closes the connection with all its streams. */
        public void disconnect() {
            channel.parent().close();
        }

        private final class Received extends InputStream {

            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] into, int offset, int length) throws IOException {
                while (read == current.length) {
                    take();
                    if (current == END) {
                        return -1;
                    }
                    if (current == RESET) {
                        throw new SocketException("the stream is reset");
                    }
                }
                int bytes = Math.min(length, current.length - read);
                System.arraycopy(current, read, into, offset, bytes);
                read += bytes;
                return bytes;
            }

            private void take() throws IOException {
                try {
                    byte[] next = received.poll(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
                    if (next == null) {
                        throw new IOException("nothing arrived");
                    }
                    current = next;
                    read = 0;
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
            }
        }

        private final class Sent extends OutputStream {

            @Override
            public void write(int b) {
                Stream.this.write((byte) b);
            }

            @Override
            public void write(byte[] bytes) {
                Stream.this.write(bytes);
            }
        }
    }
}
