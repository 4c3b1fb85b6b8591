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

    /** A gateway with nothing behind it. */
    private static final class Nothing implements Gateway {

        @Override
        public Map<String, Backend> backends() {
            return Map.of();
        }

        @Override
        public Collection<RouteView> routes() {
            return List.of();
        }
    }

    private static final class TestLine implements Viewer.Line {

        private final List<byte[]> sent = new ArrayList<>();
        private boolean ready = true;
        private boolean ended;
        private boolean cut;

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
        public void cut() {
            cut = true;
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

    private final RecentEvents happenings = new RecentEvents(() -> Instant.EPOCH);
    private final Drain drain = new Drain();
    private final OverloadGuard guard = new OverloadGuard(new OverloadProperties(100, Duration.ofMillis(250), 90));
    /** What the feed's thread would do. */
    private final Queue<Runnable> tasks = new ArrayDeque<>();

    private final LiveFeed feed = new LiveFeed(
            new Nothing(),
            new Engine(() -> 0, () -> 0.5, drain, guard, new Limits(1_000, 1_000_000_000, 1_000_000_000)),
            guard,
            drain,
            happenings,
            Optional::empty,
            () -> 0,
            InstantSource.fixed(Instant.EPOCH),
            tasks::add);

    @AfterEach
    void close() {
        feed.close();
    }

    /** Somebody comes, and the feed's thread gets to it. */
    private boolean join(LiveFeed.Format format, Viewer viewer) {
        boolean joined = feed.join(format, viewer);
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
        return joined;
    }

    @Test
    void encodesOnItsOwnThreadAndGivesTheWholeFirst() {
        TestLine line = new TestLine();
        TestLine gone = new TestLine();
        Viewer left = new Viewer(gone, false);
        feed.join(LiveFeed.Format.SNAPSHOTS, new Viewer(line, true));
        feed.join(LiveFeed.Format.SNAPSHOTS, left);
        feed.second();
        assertThat(line.sent).isEmpty();
        assertThat(feed.viewers()).isEqualTo(2);
        feed.leave(LiveFeed.Format.SNAPSHOTS, left);

        tasks.forEach(Runnable::run);

        assertThat(line.sent).hasSize(2);
        assertThat(gone.sent).isEmpty();
    }

    @Test
    void computesOneSnapshotASecondAndEncodesItOnceForAllWhoLook() {
        List<TestLine> lines = Stream.generate(TestLine::new).limit(50).toList();
        feed.second();
        lines.forEach(line -> join(LiveFeed.Format.SNAPSHOTS, new Viewer(line, false)));
        feed.second();
        feed.second();

        assertThat(feed.computed()).isEqualTo(3);
        for (TestLine line : lines) {
            assertThat(line.events()).containsExactly("event: full", "event: snapshot", "event: snapshot");
            for (int i = 0; i < line.sent.size(); i++) {
                assertThat(line.sent.get(i)).isSameAs(lines.getFirst().sent.get(i));
            }
        }
    }

    @Test
    void sendsACompressedStreamThatAnyViewerCanBeginWith() throws IOException {
        TestLine early = new TestLine();
        TestLine late = new TestLine();
        join(LiveFeed.Format.SNAPSHOTS, new Viewer(early, true));
        feed.second();
        join(LiveFeed.Format.SNAPSHOTS, new Viewer(late, true));
        feed.second();

        assertThat(inflated(early).lines().filter(line -> line.startsWith("event: ")))
                .containsExactly("event: full", "event: snapshot", "event: snapshot");
        assertThat(inflated(late).lines().filter(line -> line.startsWith("event: ")))
                .containsExactly("event: full", "event: snapshot");
        // The last event is the same bytes for both.
        assertThat(early.sent.getLast()).isSameAs(late.sent.getLast());
    }

    @Test
    void passesAViewerOverThatIsNotReadyAndGoesOnWhenItIs() {
        TestLine line = new TestLine();
        join(LiveFeed.Format.SNAPSHOTS, new Viewer(line, false));
        for (int i = 0; i < 5; i++) {
            line.ready = false;
            for (int miss = 1; miss < Viewer.MISSES; miss++) {
                feed.second();
            }
            line.ready = true;
            feed.second();
        }

        assertThat(line.cut).isFalse();
        assertThat(line.sent).hasSize(6);
    }

    @Test
    void cutsAViewerOffThatCannotKeepUpAndNobodyElse() {
        TestLine slow = new TestLine();
        TestLine quick = new TestLine();
        join(LiveFeed.Format.SNAPSHOTS, new Viewer(slow, false));
        join(LiveFeed.Format.SNAPSHOTS, new Viewer(quick, false));
        slow.ready = false;
        for (int miss = 0; miss < Viewer.MISSES; miss++) {
            assertThat(slow.cut).isFalse();
            feed.second();
        }

        assertThat(slow.cut).isTrue();
        assertThat(slow.sent).hasSize(1);
        assertThat(quick.cut).isFalse();
        assertThat(quick.sent).hasSize(1 + Viewer.MISSES);
        assertThat(feed.viewers()).isEqualTo(1);
        assertThat(feed.dropped()).isEqualTo(1);
    }

    @Test
    void takesNoMoreViewersThanItMay() {
        for (int i = 0; i < LiveFeed.MAX_VIEWERS; i++) {
            assertThat(join(LiveFeed.Format.SNAPSHOTS, new Viewer(new TestLine(), false)))
                    .isTrue();
        }
        assertThat(join(LiveFeed.Format.HYSTRIX, new Viewer(new TestLine(), false)))
                .isFalse();
    }

    @Test
    void endsEveryStreamWhenItIsClosedAndTakesNoOther() {
        TestLine line = new TestLine();
        TestLine hystrix = new TestLine();
        join(LiveFeed.Format.SNAPSHOTS, new Viewer(line, false));
        join(LiveFeed.Format.HYSTRIX, new Viewer(hystrix, false));

        feed.close();

        assertThat(line.ended).isTrue();
        assertThat(hystrix.ended).isTrue();
        assertThat(feed.viewers()).isZero();
        assertThat(join(LiveFeed.Format.SNAPSHOTS, new Viewer(new TestLine(), false)))
                .isFalse();
    }

    /** Read as far as it goes: the stream never ends, so its end is missing. */
    private static String inflated(TestLine line) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        line.sent.forEach(all::writeBytes);
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(all.toByteArray()))) {
            byte[] chunk = new byte[1_024];
            for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
                read.write(chunk, 0, n);
            }
        } catch (EOFException e) {
            // As expected.
        }
        return read.toString(StandardCharsets.UTF_8);
    }
}
