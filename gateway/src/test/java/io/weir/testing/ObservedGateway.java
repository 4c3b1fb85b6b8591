package io.weir.testing;

import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.door.RequestFacts;
import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.BackendObserver;
import io.weir.engine.BackendSettings;
import io.weir.engine.Caller;
import io.weir.engine.Compartment;
import io.weir.engine.Engine;
import io.weir.engine.Exchange;
import io.weir.engine.Limits;
import io.weir.engine.ReceivedRequest;
import io.weir.engine.Route;
import io.weir.engine.RouteObserver;
import io.weir.engine.ServiceTimeEstimate;
import io.weir.fallback.Fallback;
import io.weir.health.Health;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.Limit;
import io.weir.limit.LimitBounds;
import io.weir.limit.LimitInForce;
import io.weir.limit.LimitSettings;
import io.weir.limit.LittlesLawProperties;
import io.weir.limit.QueueingBulkhead;
import io.weir.metrics.BackendMeters;
import io.weir.metrics.MeterBook;
import io.weir.metrics.Meters;
import io.weir.outcome.Refusal;
import io.weir.overload.InFlightShare;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadProperties;
import io.weir.retry.RetryBudget;
import io.weir.retry.RetryBudgetProperties;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.netty.resources.LoopResources;

/** The parts of a gateway with one backend and a stopped clock, and callers for it. */
public final class ObservedGateway implements AutoCloseable {

    public static final LittlesLawProperties LAW = new LittlesLawProperties(Duration.ofSeconds(10));

    public final AtomicLong clock = new AtomicLong(1_000_000_000_000L);
    public final Drain drain = new Drain();
    public final InFlightShare share = new InFlightShare();
    public final OverloadGuard guard = new OverloadGuard(
            new OverloadProperties(100, Duration.ofMillis(10), Duration.ofMillis(100), Duration.ofMillis(250), 90));
    public final Engine engine = new Engine(
            clock::get,
            () -> 0.5,
            drain,
            guard,
            new Limits(1_000_000, 1_000_000_000, 1_000_000_000, 1_000_000, 65_536, 1 << 20, 0));
    public final QueueingBulkhead bulkhead = new QueueingBulkhead(2, 3);
    public final LimitInForce limit = new LimitInForce(
            bulkhead, LimitSettings.fixed(2, 3), clock::get, () -> TimeUnit.SECONDS.toNanos(1_700_000_000));
    public final QueueingBulkhead streams = new QueueingBulkhead(5, 0);
    public final Health health =
            TestHealth.of(TestHealth.settings(Duration.ofSeconds(2), 20, Duration.ofMillis(200)), clock::get);
    public final ServiceTimeEstimate serviceTime = new ServiceTimeEstimate(LAW, health, clock::get);
    public final RetryBudget retryBudget = new RetryBudget(new RetryBudgetProperties(20, 0), clock.get());
    public final Pool pool;
    private final LoopResources loops = LoopResources.create("observe-test", 1, true);

    public ObservedGateway() {
        this.pool = new Pool(
                "orders",
                URI.create("http://orders:8080"),
                UpstreamProtocol.HTTP1,
                new ConnectionProperties(
                        Duration.ofMillis(250), Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
                7,
                null,
                loops);
    }

    public BackendMeters backendMeters(MeterBook book) {
        return new BackendMeters(
                book.open(),
                "orders",
                compartment(Instances.of(new Instance(URI.create("http://orders:8080"), pool, health))),
                100_000_000L,
                retryBudget);
    }

    private Compartment compartment(Instances instances) {
        return new Compartment(bulkhead, limit, streams, new InstancesInForce(instances), serviceTime, share);
    }

    /** Instances at these authorities; the fixture's health follows from theirs. */
    public Instances instances(List<String> authorities) {
        Instances instances = Instances.of(
                authorities.stream()
                        .map(authority -> new Instance(
                                URI.create("http://" + authority),
                                pool,
                                Health.ofInstance(
                                        "orders",
                                        "http://" + authority,
                                        health.settings(),
                                        TestHealth.permitsOf(bulkhead),
                                        clock::get,
                                        () -> 0.5)))
                        .toList(),
                health,
                LoadBalancingProperties.defaults(),
                bound -> 0,
                opened -> {});
        instances.takeOver();
        return instances;
    }

    public Backend backend(BackendObserver observer) {
        return backend(
                observer, Instances.of(new Instance(URI.create("http://user:secret@orders:8080"), pool, health)));
    }

    public Backend backend(BackendObserver observer, Instances instances) {
        BackendSettings settings = new BackendSettings(
                "orders", false, 2_000_000_000L, 0, 250_000_000L, 1_000_000_000L, new BitSet(), new BitSet(), true);
        return new Backend(settings, compartment(instances), retryBudget, null, observer);
    }

    public Route route(Backend backend, @Nullable Fallback fallback, RouteObserver observer) {
        return TestRoute.to(backend, observer)
                .id("orders-route")
                .fallback(fallback, null)
                .build();
    }

    /** Makes the limit adapt: 2 to 100, at first 8. */
    public void adapt() {
        limit.configure(
                LimitSettings.adaptive(new LimitBounds(2, 100, 8), LimitSettings.AUTO, TimeUnit.SECONDS.toNanos(2)));
    }

    /** Calls of the same latency, as many at once as the limit allows. All of them are answered. */
    public void serveSaturated(int calls, long latencyNanos) {
        record Call(int mark, long startedAt) {}
        Queue<Call> inFlight = new ArrayDeque<>();
        for (int i = 0; i < calls; i++) {
            while (bulkhead.tryAcquire()) {
                inFlight.add(new Call(limit.started(clock.get()), clock.get()));
            }
            Call oldest = inFlight.remove();
            long now = Math.max(clock.get(), oldest.startedAt + latencyNanos);
            clock.set(now);
            limit.ended(now, oldest.mark, now - oldest.startedAt, Limit.Evidence.ANSWERED);
            bulkhead.release();
        }
        inFlight.forEach(call -> bulkhead.release());
    }

    /** Takes all permits. */
    public void fill() {
        while (bulkhead.tryAcquire()) {
            // Until no permit is left.
        }
    }

    /** An exchange that arrived some time ago, and is refused at once because the bulkhead is full. */
    public Exchange refused(Route route, Caller caller, Duration ago) {
        fill();
        Exchange exchange = new Exchange(engine, route, caller, clock.get() - ago.toNanos());
        exchange.start();
        return exchange;
    }

    @Override
    public void close() {
        loops.dispose();
    }

    /** The sum of a registry's meters of this name and these tags. */
    public static double value(MeterRegistry registry, Meters meter, String... tags) {
        return registry.get(meter.definition().meterName()).tags(tags).meters().stream()
                .mapToDouble(found -> found.measure().iterator().next().getValue())
                .sum();
    }

    /** The size of the body of each refusal. */
    public static final int REFUSAL_BYTES = 120;

    /** The same facts for every caller. */
    public static class Facts implements RequestFacts {

        public String path = "/orders/7";
        public String address = "192.0.2.7";
        public String id = "id-1";
        public String protocol = "HTTP/1.1";

        @Nullable
        public String trace = "0af7651916cd43dd8448eb211c80319c";

        @Override
        public String requestMethod() {
            return "GET";
        }

        @Override
        public HttpHeaders headers() {
            return EmptyHttpHeaders.INSTANCE;
        }

        @Override
        public String scheme() {
            return "http";
        }

        @Override
        public String requestPath() {
            return path;
        }

        @Override
        public String requestId() {
            return id;
        }

        @Override
        public int refusalBytes(Refusal refusal) {
            return REFUSAL_BYTES;
        }

        @Override
        public @Nullable String traceId() {
            return trace;
        }

        @Override
        public String callerAddress() {
            return address;
        }

        @Override
        public String door() {
            return "compiled";
        }

        @Override
        public String protocol() {
            return protocol;
        }
    }

    /**
     * A caller that accepts every call. It is a proxy and not a mock, because mocking instruments classes,
     * which then allocate.
     */
    public static Caller caller(HttpHeaders headers, @Nullable RequestFacts facts) {
        EmbeddedChannel channel = new EmbeddedChannel();
        InvocationHandler handler = (proxy, method, arguments) -> {
            String name = method.getName();
            if (facts != null && method.getDeclaringClass().equals(RequestFacts.class) && !name.equals("headers")) {
                return method.invoke(facts, arguments);
            }
            return switch (name) {
                case "received" -> proxy;
                case "channel" -> channel;
                case "headers" -> headers;
                case "method" -> HttpMethod.GET;
                case "refusalBytes" -> REFUSAL_BYTES;
                case "answer" -> {
                    ((ByteBuf) arguments[2]).release();
                    yield null;
                }
                // A request without a body that is no WebSocket.
                default -> method.getReturnType().equals(boolean.class) ? false : null;
            };
        };
        Class<?>[] interfaces = facts == null
                ? new Class<?>[] {Caller.class, ReceivedRequest.class}
                : new Class<?>[] {Caller.class, ReceivedRequest.class, RequestFacts.class};
        return (Caller) Proxy.newProxyInstance(ObservedGateway.class.getClassLoader(), interfaces, handler);
    }

    /** An ordinary caller. */
    public static Caller caller() {
        return caller(new DefaultHttpHeaders(), new Facts());
    }
}
