package io.weir.edge;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2FrameReader;
import io.netty.handler.codec.http2.DefaultHttp2FrameWriter;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.weir.testing.TestTls;
import java.io.Closeable;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/** An HTTP/2 client that sends exactly the given frames, valid or not, and reads frame by frame. */
@SuppressWarnings("FutureReturnValueIgnored") // The channel writes into memory.
public final class RawHttp2Client implements Closeable {

    /**
     * The received events: {@code headers 1 200}, {@code data 1 text}, {@code reset 1 0},
     * {@code goaway 2147483647 0}, {@code closed}.
     */
    private final Deque<String> events = new ArrayDeque<>();

    private final Map<Integer, Integer> windows = new HashMap<>();
    private final RawHttp1Client connection;
    private final ChannelHandlerContext context;
    private final EmbeddedChannel channel;
    private final DefaultHttp2FrameWriter writer = new DefaultHttp2FrameWriter((name, value) -> false);
    private final DefaultHttp2FrameReader reader =
            new DefaultHttp2FrameReader(new DefaultHttp2HeadersDecoder(false, 1 << 20));

    /** The latest headers or trailers of a response. */
    private Http2Headers lastHeaders = new DefaultHttp2Headers(false);

    RawHttp2Client(RawHttp1Client connection) throws IOException {
        this(connection, 1 << 20);
    }

    /** Announces this initial window for every stream. */
    RawHttp2Client(RawHttp1Client connection, int window) throws IOException {
        this.connection = connection;
        this.channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());
        this.context = channel.pipeline().firstContext();
        connection.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        writer.writeSettings(context, new Http2Settings().initialWindowSize(window), context.newPromise());
        flush();
    }

    /** A client of a port without TLS. */
    public static RawHttp2Client to(int port) throws IOException {
        return new RawHttp2Client(RawHttp1Client.to(port));
    }

    /** A client of a port with TLS. */
    public static RawHttp2Client overTls(int port) throws IOException {
        return new RawHttp2Client(new RawHttp1Client(TestTls.connect(port, "h2")));
    }

    /** A client of a connection on which TLS is complete. */
    public static RawHttp2Client over(Socket connection) throws IOException {
        return new RawHttp2Client(new RawHttp1Client(connection));
    }

    /** A client that reads only the heads of responses: its window is 0. */
    public static RawHttp2Client takingNothing(int port) throws IOException {
        return new RawHttp2Client(RawHttp1Client.to(port), 0);
    }

    /** A request's head. */
    public static Http2Headers get(String path) {
        return request("GET", path).authority("weir.example");
    }

    /** The head of a request with a body. */
    public static Http2Headers post(String path) {
        return request("POST", path).authority("weir.example");
    }

    static Http2Headers request(String method, String path) {
        return new DefaultHttp2Headers(false).method(method).path(path).scheme("http");
    }

    /** Sends a request's head. */
    public void headers(int stream, Http2Headers headers, boolean last) throws IOException {
        writer.writeHeaders(context, stream, headers, 0, last, context.newPromise());
        flush();
    }

    /** Sends a part of a body once the windows of stream and connection permit it. */
    public void data(int stream, int bytes, boolean last) throws IOException {
        while (stream != 0 && (window(stream) < bytes || window(0) < bytes)) {
            read();
        }
        windows.put(stream, window(stream) - bytes);
        windows.put(0, window(0) - bytes);
        writer.writeData(context, stream, Unpooled.wrappedBuffer(new byte[bytes]), 0, last, context.newPromise());
        flush();
    }

    /**
     * Sends a part of a body, unless the stream's window stays too small for half a second.
     *
     * @return whether it is sent
     */
    public boolean trySend(int stream, int bytes) throws IOException {
        connection.setTimeout(500);
        try {
            data(stream, bytes, false);
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        } finally {
            connection.setTimeout(0);
        }
    }

    /** Lets the server send this many bytes more on the whole connection. */
    void openWindow(int bytes) throws IOException {
        openWindow(0, bytes);
    }

    /** Lets the server send this many bytes more on a stream; 0: on the whole connection. */
    void openWindow(int stream, int bytes) throws IOException {
        writer.writeWindowUpdate(context, stream, bytes, context.newPromise());
        flush();
    }

    /** The latest headers or trailers of a response. */
    public Http2Headers lastHeaders() {
        return lastHeaders;
    }

    void ping() throws IOException {
        writer.writePing(context, false, 1, context.newPromise());
        flush();
    }

    /** Resets a stream. */
    public void reset(int stream) throws IOException {
        writer.writeRstStream(context, stream, 8, context.newPromise());
        flush();
    }

    /** The bytes of a request's head. */
    byte[] encoded(int stream, Http2Headers headers) {
        writer.writeHeaders(context, stream, headers, 0, true, context.newPromise());
        channel.flushOutbound();
        return drain();
    }

    RawHttp1Client connection() {
        return connection;
    }

    /** The next event, without settings, pings, acknowledgements and window updates. */
    public String next() throws IOException {
        while (events.isEmpty()) {
            read();
        }
        return events.remove();
    }

    private int window(int stream) {
        return windows.getOrDefault(stream, Http2CodecUtil.DEFAULT_WINDOW_SIZE);
    }

    private void read() throws IOException {
        byte[] header = connection.bytes(Http2CodecUtil.FRAME_HEADER_LENGTH);
        if (header.length < Http2CodecUtil.FRAME_HEADER_LENGTH) {
            events.add("closed");
            return;
        }
        int length = (header[0] & 0xff) << 16 | (header[1] & 0xff) << 8 | (header[2] & 0xff);
        ByteBuf frame = Unpooled.wrappedBuffer(header, connection.bytes(length));
        try {
            reader.readFrame(context, frame, new EventRecorder());
        } catch (Http2Exception e) {
            throw new IOException(e);
        } finally {
            frame.release();
        }
    }

    @Override
    public void close() throws IOException {
        reader.close();
        channel.finishAndReleaseAll();
        connection.close();
    }

    private void flush() throws IOException {
        channel.flushOutbound();
        connection.send(drain());
    }

    private byte[] drain() {
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf buffer = channel.readOutbound(); buffer != null; buffer = channel.readOutbound()) {
            all.writeBytes(buffer);
            buffer.release();
        }
        byte[] bytes = new byte[all.readableBytes()];
        all.readBytes(bytes);
        return bytes;
    }

    private final class EventRecorder extends Http2EventAdapter {

        @Override
        public int onDataRead(ChannelHandlerContext ctx, int stream, ByteBuf data, int padding, boolean endOfStream) {
            events.add("data " + stream + " " + data.toString(StandardCharsets.UTF_8) + (endOfStream ? " end" : ""));
            return data.readableBytes() + padding;
        }

        @Override
        public void onHeadersRead(
                ChannelHandlerContext ctx, int stream, Http2Headers headers, int padding, boolean endOfStream) {
            lastHeaders = headers;
            events.add("headers " + stream + " " + headers.status() + (endOfStream ? " end" : ""));
        }

        @Override
        public void onHeadersRead(
                ChannelHandlerContext ctx,
                int stream,
                Http2Headers headers,
                int dependency,
                short weight,
                boolean exclusive,
                int padding,
                boolean endOfStream) {
            onHeadersRead(ctx, stream, headers, padding, endOfStream);
        }

        @Override
        public void onRstStreamRead(ChannelHandlerContext ctx, int stream, long errorCode) {
            events.add("reset " + stream + " " + errorCode);
        }

        @Override
        public void onWindowUpdateRead(ChannelHandlerContext ctx, int stream, int increment) {
            windows.put(stream, window(stream) + increment);
        }

        @Override
        public void onGoAwayRead(ChannelHandlerContext ctx, int lastStream, long errorCode, ByteBuf debugData) {
            events.add("goaway " + lastStream + " " + errorCode);
        }
    }
}
