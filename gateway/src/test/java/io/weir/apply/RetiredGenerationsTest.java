package io.weir.apply;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.EventExecutor;
import io.weir.door.AnswerRules;
import io.weir.door.RouteAnswers;
import io.weir.door.RouteTable;
import io.weir.door.Routes;
import io.weir.door.WeightedGroups;
import io.weir.engine.Backend;
import io.weir.engine.BackendObserver;
import io.weir.engine.InFlightCounter;
import io.weir.engine.Route;
import io.weir.fallback.Fallback;
import io.weir.fallback.FallbackProperties;
import io.weir.instance.Pool;
import io.weir.limit.OverdueCalls;
import io.weir.limit.UsualTime;
import io.weir.outcome.Reason;
import io.weir.testing.ObservedGateway;
import io.weir.testing.TestGateway;
import io.weir.testing.TestRoute;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * The order in which the requests of replaced configurations end and their resources close. A sweep runs
 * every 50 ms; a resource that nothing uses shows that it has run.
 */
class RetiredGenerationsTest {

    private static final Duration DRAIN = Duration.ofSeconds(30);

    private final EmbeddedChannel firstLoop = new EmbeddedChannel();
    private final EmbeddedChannel secondLoop = new EmbeddedChannel();
    private final List<EventExecutor> loops = new ArrayList<>(List.of(firstLoop.eventLoop(), secondLoop.eventLoop()));
    private final List<String> closed = new CopyOnWriteArrayList<>();
    private final List<Pool> ended = new CopyOnWriteArrayList<>();
    private final Set<Pool> inUse = ConcurrentHashMap.newKeySet();
    /** Receives the pools in use; replaced by a test that answers later. */
    private volatile Consumer<Consumer<Set<Pool>>> answer = receiver -> receiver.accept(Set.copyOf(inUse));

    private final AtomicLong now = new AtomicLong(Long.MAX_VALUE - 1_000);
    private final RetiredGenerations retired = new RetiredGenerations(loops, new Users(), DRAIN, now::get);
    private final AtomicInteger found = new AtomicInteger();
    private int sentinels;

    private final class Users implements RetiredGenerations.PoolUsers {

        @Override
        public void find(Consumer<Set<Pool>> receiver) {
            answer.accept(receiver);
            found.incrementAndGet();
        }

        @Override
        public void end(Pool pool) {
            ended.add(pool);
        }
    }

    @AfterEach
    void close() {
        retired.close();
    }

    private static void until(Callable<Boolean> condition) {
        await().atMost(TestGateway.PATIENCE).pollInterval(Duration.ofMillis(5)).until(condition);
    }

    private RetiredResource resource(String name, Object key) {
        return new RetiredResource(key, () -> closed.add(name));
    }

    /**
     * Waits for a sweep that begins after this moment. It closes what was retired earlier before the
     * sentinel.
     */
    private void sweep() {
        String sentinel = "sentinel " + sentinels++;
        retire(Map.of(), List.of(resource(sentinel, new Object())));
        until(() -> closed.remove(sentinel));
    }

    private void runLoops() {
        firstLoop.runPendingTasks();
        secondLoop.runPendingTasks();
    }

    private static Routes routes(Map<String, Route> byId, InFlightCounter requestsInChain) {
        WeightedGroups groups = new WeightedGroups(List.of(), id -> null);
        return new Routes(
                new RouteTable(List.of(), groups),
                byId,
                Map.of(),
                List.of(),
                Set.of(),
                List.of(),
                groups,
                new RouteAnswers(Map.of(), AnswerRules.NONE),
                null,
                requestsInChain);
    }

    /** A route with a backend of its own, and the requests that use it. */
    private static final class Used {

        final ObservedGateway gateway = new ObservedGateway();
        final Backend backend = gateway.backend(BackendObserver.NONE);
        final InFlightCounter requests = new InFlightCounter();
        final Route route = TestRoute.to(backend, ended -> {})
                .learning(new OverdueCalls(), requests, new UsualTime())
                .build();
    }

    private void retire(Map<String, Route> byId, List<RetiredResource> resources) {
        retired.retire(routes(byId, new InFlightCounter()), resources);
    }

    // ---------------------------------------------------------------- routes

    @Test
    void closesAResourceOnceAfterTheLastRequestThatCanReachIt() {
        Used orders = new Used();
        orders.requests.begin();
        orders.requests.begin();
        retire(
                Map.of("orders", orders.route),
                List.of(resource("meters", orders.route.observer()), resource("pool", orders.gateway.pool)));
        runLoops();
        orders.requests.end();
        sweep();
        assertThat(closed).as("a request is in flight").isEmpty();
        assertThat(retired.openResources()).isEqualTo(2);

        orders.requests.end();
        sweep();

        assertThat(closed).containsExactlyInAnyOrder("meters", "pool");
        assertThat(retired.openResources()).isZero();
    }

    /** A request that has read the routes counts itself within the same task of its event loop. */
    @Test
    void waitsUntilEachEventLoopHasRunATask() {
        Used orders = new Used();
        retire(Map.of("orders", orders.route), List.of(resource("pool", orders.gateway.pool)));
        firstLoop.runPendingTasks();
        sweep();
        assertThat(closed)
                .as("a request may be about to begin on the other loop")
                .isEmpty();

        secondLoop.runPendingTasks();
        sweep();

        assertThat(closed).containsExactly("pool");
    }

    @Test
    void doesNotWaitForAnEventLoopThatHasStopped() {
        EmbeddedChannel stopped = new EmbeddedChannel();
        loops.add(new Stopped(stopped.eventLoop()).executor());
        Used orders = new Used();
        retire(Map.of("orders", orders.route), List.of(resource("pool", orders.gateway.pool)));
        runLoops();

        sweep();

        assertThat(closed).containsExactly("pool");
    }

    /** Such a request may still choose any route. */
    @Test
    void keepsAllRoutesWhileARequestIsInTheFilterChain() {
        Used orders = new Used();
        Used users = new Used();
        InFlightCounter inChain = new InFlightCounter();
        inChain.begin();
        retired.retire(
                routes(Map.of("orders", orders.route, "users", users.route), inChain),
                List.of(resource("orders", orders.gateway.pool), resource("users", users.gateway.pool)));
        runLoops();
        sweep();
        assertThat(closed).isEmpty();

        inChain.end();
        sweep();

        assertThat(closed).containsExactlyInAnyOrder("orders", "users");
    }

    @Test
    void closesWhatOnlyRoutesWithoutRequestsUse() {
        Used orders = new Used();
        Used users = new Used();
        orders.requests.begin();
        retire(
                Map.of("orders", orders.route, "users", users.route),
                List.of(resource("orders", orders.gateway.pool), resource("users", users.gateway.pool)));
        runLoops();

        sweep();

        assertThat(closed).containsExactly("users");
        orders.requests.end();
    }

    @Test
    void keepsTheBackendOfAFallback() {
        Used other = new Used();
        Used orders = new Used();
        InFlightCounter requests = new InFlightCounter();
        requests.begin();
        Fallback fallback = new Fallback(
                new FallbackProperties("other", 200, "text/plain", "", Map.of(), Set.of(Reason.CONNECT_FAILED), 1));
        Route route = TestRoute.to(orders.backend, ended -> {})
                .fallback(fallback, other.backend)
                .learning(new OverdueCalls(), requests, new UsualTime())
                .build();
        retire(Map.of("orders", route), List.of(resource("other", other.gateway.pool)));
        runLoops();
        sweep();
        assertThat(closed).isEmpty();

        requests.end();
        sweep();

        assertThat(closed).containsExactly("other");
    }

    /** The second reload retires the pool, which requests from before the first one use, too. */
    @Test
    void keepsAResourceThatAnEarlierGenerationUses() {
        Used orders = new Used();
        orders.requests.begin();
        retire(Map.of("orders", orders.route), List.of());
        runLoops();
        Map<String, Route> later = new HashMap<>();
        later.put("orders", TestRoute.to(orders.backend, ended -> {}).build());
        retire(later, List.of(resource("pool", orders.gateway.pool)));
        runLoops();
        sweep();
        assertThat(closed).isEmpty();
        assertThat(retired.generationsInUse()).as("the sentinels' included").isPositive();

        orders.requests.end();
        sweep();
        runLoops();
        sweep();

        assertThat(closed).containsExactly("pool");
    }

    @Test
    void aResourceThatCannotBeClosedDoesNotKeepTheOthers() {
        AtomicLong attempts = new AtomicLong();
        retire(
                Map.of(),
                List.of(
                        new RetiredResource(new Object(), () -> {
                            attempts.incrementAndGet();
                            throw new IllegalStateException("closed already");
                        }),
                        resource("meters", new Object())));

        sweep();
        sweep();

        assertThat(closed).containsExactly("meters");
        assertThat(attempts).hasValue(1);
        assertThat(retired.openResources()).isZero();
    }

    @Test
    void forgetsAGenerationOnceItIsOver() {
        retire(Map.of(), List.of());
        assertThat(retired.generationsInUse()).isOne();
        runLoops();

        until(() -> retired.generationsInUse() == 0);
    }

    @Test
    void closesEverythingAtOnceWhenTheGatewayStops() {
        Used orders = new Used();
        orders.requests.begin();
        retire(Map.of("orders", orders.route), List.of(resource("meters", orders.route.observer())));
        inUse.add(orders.gateway.pool);
        retired.retire(new LeavingPool(orders.gateway.pool, true));

        retired.close();
        retired.close();

        assertThat(closed).containsExactly("meters");
        assertThat(retired.openResources()).isZero();
        assertThat(retired.generationsInUse()).isZero();
    }

    // ---------------------------------------------------------------- pools

    @Test
    void closesAPoolOnceNoExchangeUsesIt() {
        Pool pool = new ObservedGateway().pool;
        inUse.add(pool);
        retired.retire(new LeavingPool(pool, false));
        untilFound(1);
        assertThat(retired.openResources()).isOne();

        inUse.remove(pool);

        until(() -> retired.openResources() == 0);
    }

    /** Waits until the users were looked for so often from now on; the last result may not be judged yet. */
    private void untilFound(int times) {
        int before = found.get();
        until(() -> found.get() >= before + times);
    }

    @Test
    void endsTheExchangesOfAnInstanceThatHasLeftOnlyAfterTheDrainTimeout() {
        Pool pool = new ObservedGateway().pool;
        inUse.add(pool);
        retired.retire(new LeavingPool(pool, true));
        now.addAndGet(DRAIN.toNanos() - 1);
        untilFound(2);
        assertThat(ended).isEmpty();

        now.incrementAndGet();

        until(() -> ended.contains(pool));
        assertThat(retired.openResources()).as("until they have ended").isOne();
    }

    @Test
    void neverEndsTheExchangesOfAnInstanceThatHasOnlyAnotherPool() {
        Pool replaced = new ObservedGateway().pool;
        Pool left = new ObservedGateway().pool;
        inUse.add(replaced);
        inUse.add(left);
        retired.retire(new LeavingPool(replaced, false));
        retired.retire(new LeavingPool(left, true));
        now.addAndGet(10 * DRAIN.toNanos());

        until(() -> !ended.isEmpty());

        assertThat(ended).as("the other pool was judged before").containsOnly(left);
    }

    /** The answer is of a moment at which exchanges could still choose the second pool. */
    @Test
    void doesNotCloseAPoolThatWasRetiredWhileTheUsersWereLookedFor() {
        List<Consumer<Set<Pool>>> receivers = new CopyOnWriteArrayList<>();
        answer = receivers::add;
        Pool first = new ObservedGateway().pool;
        Pool second = new ObservedGateway().pool;
        retired.retire(new LeavingPool(first, false));
        until(() -> receivers.size() == 1);
        retired.retire(new LeavingPool(second, false));

        receivers.get(0).accept(Set.of());
        until(() -> receivers.size() == 2);
        assertThat(retired.openResources()).as("only the first is closed").isOne();
    }

    @Test
    void anAnswerAfterTheStopHasNoEffect() {
        List<Consumer<Set<Pool>>> receivers = new CopyOnWriteArrayList<>();
        answer = receivers::add;
        retired.retire(new LeavingPool(new ObservedGateway().pool, true));
        until(() -> receivers.size() == 1);
        retired.close();

        receivers.getFirst().accept(Set.of());

        assertThat(retired.openResources()).isZero();
        assertThat(ended).isEmpty();
    }

    /** An event loop that rejects tasks. */
    private record Stopped(EventExecutor loop) {

        EventExecutor executor() {
            return (EventExecutor) Proxy.newProxyInstance(
                    RetiredGenerationsTest.class.getClassLoader(),
                    new Class<?>[] {EventExecutor.class},
                    (proxy, method, arguments) -> {
                        if (method.getName().equals("execute")) {
                            throw new RejectedExecutionException("event executor terminated");
                        }
                        return method.invoke(loop, arguments);
                    });
        }
    }
}
