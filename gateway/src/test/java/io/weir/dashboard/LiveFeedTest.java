package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.door.RouteView;
import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.engine.Limits;
import io.weir.management.Gateway;
import io.weir.management.RecentEvents;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadProperties;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LiveFeedTest {

    /** A gateway without backends and routes. */
    private static final class EmptyGateway implements Gateway {

        @Override
        public Map<String, Backend> backends() {
            return Map.of();
        }

        @Override
        public Collection<RouteView> routes() {
            return List.of();
        }
    }

    private static final class TestConnection implements StreamClient.Connection {

        private final List<byte[]> sent = new ArrayList<>();
        private boolean ready = true;
        private boolean ended;
        private boolean closed;

        @Override
        public boolean isReady() {
            return ready;
        }

        @Override
        public void send(byte[] bytes) {
            sent.add(bytes);
        }

        @Override
        public void end() {
            ended = true;
        }

        @Override
        public void close() {
            closed = true;
        }

        List<String> events() {
            return sent.stream()
                    .map(bytes -> new String(bytes, StandardCharsets.UTF_8)
                            .lines()
                            .findFirst()
                            .orElse(""))
                    .toList();
        }
    }

    private final RecentEvents recentEvents = new RecentEvents(() -> Instant.EPOCH);
    private final Drain drain = new Drain();
    private final OverloadGuard guard = new OverloadGuard(
            new OverloadProperties(100, Duration.ofMillis(10), Duration.ofMillis(100), Duration.ofMillis(250), 90));
    /** The tasks for the feed's thread. */
    private final Queue<Runnable> tasks = new ArrayDeque<>();

    private final LiveFeed feed = new LiveFeed(
            new EmptyGateway(),
            new Engine(
                    () -> 0,
                    () -> 0.5,
                    drain,
                    guard,
                    new Limits(1_000, 1_000_000_000, 1_000_000_000, 1_000, 65_536, 1 << 20, 0)),
            guard,
            drain,
            recentEvents,
            Optional::empty,
            () -> 0,
            InstantSource.fixed(Instant.EPOCH),
            tasks::add);

    @AfterEach
    void close() {
        feed.close();
    }

    /** Adds a client, and runs the tasks of the feed's thread. */
    private boolean add(LiveFeed.Format format, StreamClient client) {
        boolean added = feed.add(format, client);
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
        return added;
    }

    @Test
    void sendsTheFirstEventFromItsOwnThread() {
        TestConnection line = new TestConnection();
        TestConnection gone = new TestConnection();
        StreamClient left = new StreamClient(gone, false);
        feed.add(LiveFeed.Format.SNAPSHOTS, new StreamClient(line, true));
        feed.add(LiveFeed.Format.SNAPSHOTS, left);
        feed.tick();
        assertThat(line.sent).isEmpty();
        assertThat(feed.clients()).isEqualTo(2);
        feed.remove(LiveFeed.Format.SNAPSHOTS, left);

        tasks.forEach(Runnable::run);

        assertThat(line.sent).hasSize(2);
        assertThat(gone.sent).isEmpty();
    }

    @Test
    void encodesOneSnapshotASecondOnceForAllClients() {
        List<TestConnection> lines =
                Stream.generate(TestConnection::new).limit(50).toList();
        feed.tick();
        lines.forEach(line -> add(LiveFeed.Format.SNAPSHOTS, new StreamClient(line, false)));
        feed.tick();
        feed.tick();

        assertThat(feed.snapshots()).isEqualTo(3);
        for (TestConnection line : lines) {
            assertThat(line.events()).containsExactly("event: full", "event: snapshot", "event: snapshot");
            for (int i = 0; i < line.sent.size(); i++) {
                assertThat(line.sent.get(i)).isSameAs(lines.getFirst().sent.get(i));
            }
        }
    }

    @Test
    void sendsAValidCompressedStreamToEarlyAndLateClients() throws IOException {
        TestConnection early = new TestConnection();
        TestConnection late = new TestConnection();
        add(LiveFeed.Format.SNAPSHOTS, new StreamClient(early, true));
        feed.tick();
        add(LiveFeed.Format.SNAPSHOTS, new StreamClient(late, true));
        feed.tick();

        assertThat(inflated(early).lines().filter(line -> line.startsWith("event: ")))
                .containsExactly("event: full", "event: snapshot", "event: snapshot");
        assertThat(inflated(late).lines().filter(line -> line.startsWith("event: ")))
                .containsExactly("event: full", "event: snapshot");
        // The last event is the same bytes for both.
        assertThat(early.sent.getLast()).isSameAs(late.sent.getLast());
    }

    @Test
    void skipsEventsOfAClientThatIsNotReady() {
        TestConnection line = new TestConnection();
        add(LiveFeed.Format.SNAPSHOTS, new StreamClient(line, false));
        for (int i = 0; i < 5; i++) {
            line.ready = false;
            for (int miss = 1; miss < StreamClient.MAX_MISSES; miss++) {
                feed.tick();
            }
            line.ready = true;
            feed.tick();
        }

        assertThat(line.closed).isFalse();
        assertThat(line.sent).hasSize(6);
    }

    @Test
    void disconnectsOnlyTheClientThatIsTooSlow() {
        TestConnection slow = new TestConnection();
        TestConnection quick = new TestConnection();
        add(LiveFeed.Format.SNAPSHOTS, new StreamClient(slow, false));
        add(LiveFeed.Format.SNAPSHOTS, new StreamClient(quick, false));
        slow.ready = false;
        for (int miss = 0; miss < StreamClient.MAX_MISSES; miss++) {
            assertThat(slow.closed).isFalse();
            feed.tick();
        }

        assertThat(slow.closed).isTrue();
        assertThat(slow.sent).hasSize(1);
        assertThat(quick.closed).isFalse();
        assertThat(quick.sent).hasSize(1 + StreamClient.MAX_MISSES);
        assertThat(feed.clients()).isEqualTo(1);
        assertThat(feed.slowClients()).isEqualTo(1);
    }

    @Test
    void rejectsClientsOverTheMaximum() {
        for (int i = 0; i < LiveFeed.MAX_CLIENTS; i++) {
            assertThat(add(LiveFeed.Format.SNAPSHOTS, new StreamClient(new TestConnection(), false)))
                    .isTrue();
        }
        assertThat(add(LiveFeed.Format.HYSTRIX, new StreamClient(new TestConnection(), false)))
                .isFalse();
    }

    @Test
    void endsEveryStreamOnCloseAndRejectsNewClients() {
        TestConnection line = new TestConnection();
        TestConnection hystrix = new TestConnection();
        add(LiveFeed.Format.SNAPSHOTS, new StreamClient(line, false));
        add(LiveFeed.Format.HYSTRIX, new StreamClient(hystrix, false));

        feed.close();

        assertThat(line.ended).isTrue();
        assertThat(hystrix.ended).isTrue();
        assertThat(feed.clients()).isZero();
        assertThat(add(LiveFeed.Format.SNAPSHOTS, new StreamClient(new TestConnection(), false)))
                .isFalse();
    }

    /** Inflates all bytes; the stream has no end, so an end of file is expected. */
    private static String inflated(TestConnection line) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        line.sent.forEach(all::writeBytes);
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(all.toByteArray()))) {
            byte[] chunk = new byte[1_024];
            for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
                read.write(chunk, 0, n);
            }
        } catch (EOFException e) {
            // The stream has no end.
        }
        return read.toString(StandardCharsets.UTF_8);
    }
}
