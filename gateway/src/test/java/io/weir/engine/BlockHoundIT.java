package io.weir.engine;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.FileAppender;
import com.google.protobuf.ByteString;
import io.opentelemetry.proto.trace.v1.Span;
import io.weir.accesslog.QueuedLog;
import io.weir.testing.TestGateway;
import io.weir.tracing.TestCollector;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;
import reactor.blockhound.BlockHound;
import reactor.blockhound.BlockingOperationError;
import reactor.netty.resources.LoopResources;

/**
 * No event loop is ever blocked, and each request has its trace: a storm with every feature enabled, under
 * BlockHound. It needs its own JVM, since BlockHound changes the JVM permanently.
 */
@Tag("full")
@Tag("blockhound")
class BlockHoundIT {

    private static final int EXCHANGES = 1_000;
    private static final Logger log = (Logger) LoggerFactory.getLogger(BlockHoundIT.class);
    private static final Queue<BlockingOperationError> BLOCKING_CALLS = new ConcurrentLinkedQueue<>();

    @BeforeAll
    static void install() {
        BlockHound.builder()
                .loadIntegrations()
                // BlockHound permits it, but a pipe that nobody reads blocks it for ever.
                .disallowBlockingCallsInside("ch.qos.logback.classic.Logger", "callAppenders")
                // Netty's allocator locks its own list while it grows.
                .allowBlockingCallsInside(
                        "io.netty.buffer.AdaptivePoolingAllocator$MagazineGroup", "tryExpandMagazines")
                .blockingMethodCallback(method -> {
                    BlockingOperationError call = new BlockingOperationError(method);
                    if (!isIdleScheduler(call)) {
                        BLOCKING_CALLS.add(call);
                    }
                })
                .install();
    }

    /**
     * Whether the thread is an idle scheduler. BlockHound permits that, except if it waited before the
     * installation.
     */
    private static boolean isIdleScheduler(BlockingOperationError call) {
        return Arrays.stream(call.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(ThreadPoolExecutor.class.getName())
                        && frame.getMethodName().equals("getTask"));
    }

    @Test
    void detectsABlockingCallOnAnEventLoop() throws Exception {
        LoopResources loops = LoopResources.create("blocked", 1, true);
        loops.onServer(false)
                .submit(() -> {
                    // The blocking call that is to be detected.
                    Thread.sleep(1);
                    return true;
                })
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        loops.dispose();
        assertThat(BLOCKING_CALLS).isNotEmpty();
        BLOCKING_CALLS.clear();
    }

    @Test
    void logsOnAnEventLoopWithoutBlockingIt(@TempDir Path directory) throws Exception {
        LoopResources loops = LoopResources.create("logging", 1, true);
        Callable<Boolean> logging = () -> {
            log.warn("logged on an event loop");
            return true;
        };
        FileAppender<ILoggingEvent> file = logTo(directory.resolve("own.log"));

        loops.onServer(false).submit(logging).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertThat(BLOCKING_CALLS).as("without a queue").isNotEmpty();
        BLOCKING_CALLS.clear();

        new QueuedLog().install();
        loops.onServer(false).submit(logging).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        await().until(() -> Files.readAllLines(directory.resolve("own.log")).size() == 2);
        assertThat(BLOCKING_CALLS).as("with a queue").isEmpty();
        log.detachAppender(file.getName());
        loops.dispose();
    }

    /** Adds a file to the log of this test. */
    private static FileAppender<ILoggingEvent> logTo(Path path) {
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(log.getLoggerContext());
        encoder.setPattern("%msg%n");
        encoder.start();
        FileAppender<ILoggingEvent> file = new FileAppender<>();
        file.setContext(log.getLoggerContext());
        file.setName("OWN");
        file.setFile(path.toString());
        file.setEncoder(encoder);
        file.start();
        log.addAppender(file);
        return file;
    }

    @Test
    void neverBlocksAnEventLoopInAStorm() throws Exception {
        long seed = Long.getLong("storm.seed", System.nanoTime());
        System.out.printf("storm: -Dstorm.seed=%d, %d exchanges%n", seed, EXCHANGES);
        BLOCKING_CALLS.clear();
        try (TestCollector collector = TestCollector.start();
                Storm storm = new Storm(
                        seed,
                        "tracing: { enabled: true, endpoint: \"" + collector.endpoint()
                                + "\", sampling-ratio: 1, queue-capacity: 100000 }")) {
            // As the main method does.
            new QueuedLog().install();
            storm.run(EXCHANGES, storm::missingEvents);
            assertThat(storm.missingEvents()).as("events that did not occur").isEmpty();
            storm.assertExplained();
            storm.gateway().assertNothingHeld();
            assertTraced(storm.gateway(), collector);
        }
        assertThat(BLOCKING_CALLS.stream()
                        .map(call -> Arrays.stream(call.getStackTrace())
                                .skip(3)
                                .limit(25)
                                .map(StackTraceElement::toString)
                                .collect(Collectors.joining("\n  ", call.getMessage() + "\n  ", "\n")))
                        .distinct())
                .as("%d blocking calls on event loops", BLOCKING_CALLS.size())
                .isEmpty();
    }

    /**
     * Each request has one server span with the trace id of the log; each attempt's span is a child of one.
     */
    private static void assertTraced(TestGateway gateway, TestCollector collector) {
        Predicate<Span> isServer = span -> span.getKind() == Span.SpanKind.SPAN_KIND_SERVER;
        await().atMost(1, TimeUnit.MINUTES)
                .until(() -> collector.spans().stream().filter(isServer).count()
                        == gateway.log().size());
        assertThat(collector.spans().stream()
                        .filter(isServer)
                        .map(span -> TestCollector.hex(span.getTraceId()))
                        .sorted()
                        .toList())
                .isEqualTo(gateway.log().stream()
                        .map(line -> line.path("trace_id").asString())
                        .sorted()
                        .toList());
        Set<ByteString> servers =
                collector.spans().stream().filter(isServer).map(Span::getSpanId).collect(Collectors.toSet());
        assertThat(collector.spans().stream().filter(isServer.negate()))
                .isNotEmpty()
                .allMatch(span -> servers.contains(span.getParentSpanId()));
    }
}
