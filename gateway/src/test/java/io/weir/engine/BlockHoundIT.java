package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.opentelemetry.proto.trace.v1.Span;
import io.weir.testing.TestGateway;
import io.weir.tracing.TestCollector;
import java.util.Arrays;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.blockhound.BlockHound;
import reactor.blockhound.BlockingOperationError;
import reactor.netty.resources.LoopResources;

/**
 * No event loop is ever blocked, and each request has its trace: a storm with everything switched on, under BlockHound, in a JVM of its
 * own, since BlockHound changes the JVM for good.
 */
@Timeout(300)
class BlockHoundIT {

    private static final int EXCHANGES = 2_000;
    private static final Queue<BlockingOperationError> BITES = new ConcurrentLinkedQueue<>();

    @BeforeAll
    static void install() {
        assumeThat(Boolean.getBoolean("blockhound")).as("in its own execution").isTrue();
        BlockHound.builder()
                .loadIntegrations()
                // Netty's allocator locks its own list for the moment in which it makes it longer.
                .allowBlockingCallsInside(
                        "io.netty.buffer.AdaptivePoolingAllocator$MagazineGroup", "tryExpandMagazines")
                .blockingMethodCallback(method -> {
                    BlockingOperationError bite = new BlockingOperationError(method);
                    if (!waitsForATask(bite)) {
                        BITES.add(bite);
                    }
                })
                .install();
    }

    /** A scheduler's thread that has nothing to do; BlockHound knows that it may, unless it waited already when BlockHound came. */
    private static boolean waitsForATask(BlockingOperationError bite) {
        return Arrays.stream(bite.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(ThreadPoolExecutor.class.getName())
                        && frame.getMethodName().equals("getTask"));
    }

    @Test
    void bitesWhereAnEventLoopBlocks() throws Exception {
        LoopResources loops = LoopResources.create("blocked", 1, true);
        loops.onServer(false)
                .submit(() -> {
                    Thread.sleep(1);
                    return true;
                })
                .get(10, TimeUnit.SECONDS);
        loops.dispose();
        assertThat(BITES).isNotEmpty();
        BITES.clear();
    }

    @Test
    void blocksNoEventLoopWhateverHappensAtOnce() throws Exception {
        long seed = Long.getLong("storm.seed", System.nanoTime());
        System.out.printf("storm: -Dstorm.seed=%d, %d exchanges%n", seed, EXCHANGES);
        BITES.clear();
        try (TestCollector collector = TestCollector.start();
                Storm storm = new Storm(
                        seed,
                        "tracing: { enabled: true, endpoint: \"" + collector.endpoint()
                                + "\", sampling-ratio: 1, queue-capacity: 100000 }")) {
            storm.rage(EXCHANGES);
            storm.assertAllHappened();
            storm.assertExplained();
            storm.gateway().assertNothingHeld();
            assertTraced(storm.gateway(), collector);
        }
        assertThat(BITES.stream()
                        .map(bite -> Arrays.stream(bite.getStackTrace())
                                .skip(3)
                                .limit(25)
                                .map(StackTraceElement::toString)
                                .collect(Collectors.joining("\n  ", bite.getMessage() + "\n  ", "\n")))
                        .distinct())
                .as("%d blocking calls on event loops", BITES.size())
                .isEmpty();
    }

    /** Each request has one server span, by the trace that the log names, and each attempt's span stands below one. */
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
