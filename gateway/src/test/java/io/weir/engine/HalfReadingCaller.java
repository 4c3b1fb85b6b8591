package io.weir.engine;

import io.weir.engine.StormPlan.Event;
import io.weir.engine.StormPlan.Seen;
import io.weir.testing.TestGateway;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;

/** A caller of a {@link Storm} over HTTP/2 that reads one window of its answer, and waits for its events. */
final class HalfReadingCaller {

    private static final int WINDOW = 65_535;

    private HalfReadingCaller() {}

    static Seen call(StormPlan plan, int port, String timeout) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout((int) TestGateway.PATIENCE.toMillis());
            OutputStream out = socket.getOutputStream();
            out.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            out.write(frame(4, 0, 0));
            out.write(frame(
                    1,
                    5,
                    1,
                    field(":method", "GET"),
                    field(":scheme", "http"),
                    field(":path", plan.path()),
                    field(":authority", "weir.test"),
                    field("x-request-timeout", timeout)));
            DataInputStream in = new DataInputStream(socket.getInputStream());
            long read = 0;
            while (true) {
                int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
                int type = in.readUnsignedByte();
                int flags = in.readUnsignedByte();
                int stream = in.readInt();
                byte[] payload = in.readNBytes(length);
                if (payload.length < length) {
                    throw new EOFException("end within a frame");
                }
                if (type == 0) {
                    read += length;
                }
                if (type == 3 || type == 7) {
                    return Seen.BROKEN_OFF;
                }
                if (stream == 1 && (flags & 1) != 0) {
                    plan.status = read == Storm.LARGE.length ? 200 : 0;
                    return Seen.COMPLETE_ANSWER;
                }
                if (read == WINDOW && !plan.reached) {
                    plan.reached = true;
                    Thread.ofVirtual().start(() -> readOrLeave(plan, socket));
                }
            }
        }
    }

    private static void readOrLeave(StormPlan plan, Socket socket) {
        List<Event> order = new ArrayList<>(EnumSet.of(Event.CANCEL, Event.COMPLETE));
        order.removeIf(event -> !plan.has(event));
        order.sort((one, other) -> Long.compare(plan.at(one), plan.at(other)));
        try {
            if (!plan.hasOwn()) {
                Storm.waitUntil(plan.latest());
                socket.close();
            }
            for (Event event : order) {
                Storm.waitUntil(plan.at(event));
                long from = System.nanoTime();
                if (event == Event.CANCEL) {
                    socket.setSoLinger(true, 0);
                    socket.close();
                } else {
                    socket.getOutputStream().write(frame(8, 0, 0, new byte[] {0, 1, 0, 0}));
                    socket.getOutputStream().write(frame(8, 0, 1, new byte[] {0, 1, 0, 0}));
                }
                plan.happened(event, from);
            }
        } catch (IOException e) {
            // The connection is closed already.
        }
    }

    private static byte[] frame(int type, int flags, int stream, byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        byte[] frame = new byte[9 + length];
        frame[1] = (byte) (length >> 8);
        frame[2] = (byte) length;
        frame[3] = (byte) type;
        frame[4] = (byte) flags;
        frame[8] = (byte) stream;
        int at = 9;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, frame, at, part.length);
            at += part.length;
        }
        return frame;
    }

    /** A field in HPACK's literal form without indexing. */
    private static byte[] field(String name, String value) {
        byte[] field = new byte[3 + name.length() + value.length()];
        field[1] = (byte) name.length();
        System.arraycopy(name.getBytes(StandardCharsets.US_ASCII), 0, field, 2, name.length());
        field[2 + name.length()] = (byte) value.length();
        System.arraycopy(value.getBytes(StandardCharsets.US_ASCII), 0, field, 3 + name.length(), value.length());
        return field;
    }
}
