package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.access.AccessProperties;
import io.weir.access.AddressRule;
import io.weir.authentication.AuthenticationRule;
import io.weir.authorization.AuthorizationCache;
import io.weir.authorization.AuthorizationRule;
import io.weir.authorization.AuthorizeProperties;
import io.weir.authorization.OnFailure;
import io.weir.deadline.CallerTimeout;
import io.weir.drain.Drain;
import io.weir.fallback.Fallback;
import io.weir.fallback.FallbackProperties;
import io.weir.health.BackendRoutes;
import io.weir.health.Health;
import io.weir.health.Probe;
import io.weir.health.ProbeMode;
import io.weir.health.RecoveryProperties;
import io.weir.health.RouteHealth;
import io.weir.instance.ConnectionFiles;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.Instance;
import io.weir.instance.InstanceAddress;
import io.weir.instance.Instances;
import io.weir.instance.InstancesInForce;
import io.weir.instance.Pool;
import io.weir.instance.UpstreamProtocol;
import io.weir.instance.Violations;
import io.weir.lastgood.AnswerSpace;
import io.weir.lastgood.LastGood;
import io.weir.lastgood.LastGoodMemoryProperties;
import io.weir.lastgood.LastGoodProperties;
import io.weir.lastgood.LastGoodRecording;
import io.weir.lastgood.LastGoodRequest;
import io.weir.lastgood.LastGoodStore;
import io.weir.limit.Limit;
import io.weir.limit.LimitInForce;
import io.weir.limit.LittlesLawProperties;
import io.weir.limit.OverdueCalls;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.TenantKey;
import io.weir.limit.Tenants;
import io.weir.limit.UsualTime;
import io.weir.outcome.Reason;
import io.weir.overload.InFlightShare;
import io.weir.overload.OverloadGuard;
import io.weir.overload.OverloadProperties;
import io.weir.overload.OverloadSampler;
import io.weir.probe.ProbeRequest;
import io.weir.ratelimit.CallsPerKey;
import io.weir.ratelimit.MaxConcurrentPerKeyProperties;
import io.weir.ratelimit.RateLimitProperties;
import io.weir.ratelimit.RateLimiter;
import io.weir.ratelimit.SharedBuckets;
import io.weir.retry.RetryBudget;
import io.weir.retry.RetryBudgetProperties;
import io.weir.retry.RetryPolicy;
import io.weir.retry.RetryProperties;
import io.weir.testing.TestHealth;
import io.weir.testing.TestRoute;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;
import reactor.netty.resources.LoopResources;
import reactor.test.publisher.TestPublisher;

/**
 * An exchange between a simulated caller and simulated backends, on an event loop whose time the test
 * advances. The backend has one permit and one place in its queue. {@link #assertEndedCleanly} checks that
 * every resource was released.
 */
final class ExchangeFixture {

    static final Duration DEADLINE = Duration.ofSeconds(2);
    static final Duration MAX_WAIT = Duration.ofMillis(100);
    static final Duration CONNECT_TIMEOUT = Duration.ofMillis(250);
    static final Duration STALL = Duration.ofMillis(500);
    static final Duration STREAM_IDLE = Duration.ofSeconds(30);
    static final Duration BODY_IDLE = Duration.ofSeconds(1);
    static final Duration READ_IDLE = Duration.ofSeconds(20);
    static final Duration BACKOFF = Duration.ofMillis(10);
    static final long MAX_BODY_BYTES = 1000;
    /** Virtual time advances in such steps, so that it does not look like a pause of the event loop. */
    private static final long STEP_MILLIS = 20;

    static final int READ_AHEAD_BYTES = 100;
    static final int READ_AHEAD_TOTAL_BYTES = 150;
    static final long MIN_BYTES_PER_SECOND = 10;

    /** Unused: no attempt acquires a connection. */
    private static final Pool POOL = new Pool(
            "orders",
            URI.create("http://orders:8080"),
            UpstreamProtocol.HTTP1,
            new ConnectionProperties(CONNECT_TIMEOUT, Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
            1,
            null,
            LoopResources.create("fixture", 1, true));

    /** Likewise, and without a file for a connection. */
    private static final Pool POOL_WITHOUT_FILES = new Pool(
            "orders",
            InstanceAddress.of(URI.create("http://orders:8080"), 1),
            UpstreamProtocol.HTTP1,
            new ConnectionProperties(CONNECT_TIMEOUT, Duration.ofSeconds(4), Duration.ofMinutes(5), 16, null),
            1,
            null,
            LoopResources.create("fixture", 1, true),
            null,
            new Violations("orders"),
            new ConnectionFiles(0, 0, () -> 0));

    final EmbeddedChannel channel = new StoppableChannel();
    final FakeCaller caller = new FakeCaller(channel);
    final QueueingBulkhead bulkhead = new QueueingBulkhead(1, 1);
    /** In use where the bulkhead is not enforced. */
    final QueueingBulkhead streams = new QueueingBulkhead(1, 0);

    final QueueingBulkhead otherBulkhead = new QueueingBulkhead(1, 0);
    final QueueingBulkhead routeLimit = new QueueingBulkhead(1, 0);
    private Pool pool = POOL;
    final RecordingLimit limit = new RecordingLimit();
    final List<FakeAttempt> attempts = new ArrayList<>();
    final List<ExchangeRecord> ended = new ArrayList<>();
    final RecordingObserver observer = new RecordingObserver();
    final InFlightCounter inFlight = new InFlightCounter();
    final UsualTime usualTime;
    final OverdueCalls overdue = new OverdueCalls();
    final Drain drain = new Drain();
    private final OverloadGuard overload = new OverloadGuard(
            new OverloadProperties(100, Duration.ofMillis(10), Duration.ofMillis(100), Duration.ofMillis(250), 90));
    final Engine engine;
    final Health health;
    final ServiceTimeEstimate serviceTime;
    /** The copies of requests that were sent as probes. */
    final List<ProbeRequest> probes = new ArrayList<>();

    final Health otherHealth;
    private final BitSet failures = BackendSettings.bits(Set.of(500, 501, 502, 503, 504));
    private Mode mode = Mode.REQUEST;
    private boolean http2;
    private boolean enforcesDeadline = true;
    private @Nullable RetryPolicy retry;
    private @Nullable Fallback fallback;
    private @Nullable LastGood lastGood;
    private @Nullable Exchange exchange;
    private int retriesPerSecond;
    private boolean permitTaken;
    private @Nullable Upload upload;
    private @Nullable RuntimeException startFailure;
    private @Nullable ProbeMode probeMode;
    private @Nullable RouteHealth routeHealth;
    private Priority priority = Priority.NORMAL;
    private @Nullable Tenants tenants;
    private @Nullable OverloadSampler sampler;
    private @Nullable AddressRule access;
    boolean isAccessEnforced = true;
    private @Nullable AuthenticationRule authentication;
    private @Nullable RateLimiter rateLimiter;
    private @Nullable AuthorizationRule authorization;
    private @Nullable AuthorizationCache knownAnswers;

    /** The limit on the calls of each address; null: none. */
    @Nullable
    CallsPerKey callsPerKey;

    @Nullable
    Probe lastProbe;

    ExchangeFixture() {
        this(new UsualTime());
    }

    /** A fixture whose route has the same usual time as that of another fixture. */
    ExchangeFixture(UsualTime usualTime) {
        this.usualTime = usualTime;
        channel.freezeTime();
        engine = new Engine(
                this::now,
                () -> 0.5,
                drain,
                overload,
                new Limits(
                        MAX_BODY_BYTES,
                        BODY_IDLE.toNanos(),
                        READ_IDLE.toNanos(),
                        1000,
                        READ_AHEAD_BYTES,
                        READ_AHEAD_TOTAL_BYTES,
                        MIN_BYTES_PER_SECOND),
                (created, admission, evidence, now) -> {
                    FakeAttempt attempt = new FakeAttempt(created, admission, evidence, now);
                    attempt.startFailure = startFailure;
                    attempts.add(attempt);
                    return attempt;
                },
                (probed, request, probe) -> {
                    probes.add(request);
                    lastProbe = probe;
                });
        health = health(bulkhead);
        otherHealth = health(otherBulkhead);
        serviceTime = new ServiceTimeEstimate(new LittlesLawProperties(Duration.ofSeconds(1)), health, this::now);
    }

    private Health health(QueueingBulkhead permits) {
        RecoveryProperties recovery =
                new RecoveryProperties(null, Duration.ofMillis(200), 5, Duration.ofSeconds(30), null);
        return TestHealth.of(
                TestHealth.settings(DEADLINE, 100, STALL, recovery), TestHealth.permitsOf(permits), this::now);
    }

    // ---------------------------------------------------------------- setup

    /** The pauses of the event loop are measured. */
    ExchangeFixture withMeasuredPauses() {
        OverloadSampler measuring = new OverloadSampler(List.of(channel.eventLoop()), overload, this::now);
        measuring.startLoops();
        sampler = measuring;
        advance(Duration.ZERO);
        return this;
    }

    ExchangeFixture withHttp2() {
        http2 = true;
        return this;
    }

    ExchangeFixture withStreamRoute() {
        mode = Mode.STREAM;
        return this;
    }

    ExchangeFixture withWebSocket() {
        caller.webSocket = true;
        return this;
    }

    ExchangeFixture withRequestBody() {
        caller.hasBody = true;
        return this;
    }

    /** The backend's budget allows a retry; the route has no retry policy. */
    ExchangeFixture withRetryBudget() {
        retriesPerSecond = 10;
        return this;
    }

    /** The caller grants this time. */
    ExchangeFixture withCallerTimeout(Duration time) {
        caller.headers.set(CallerTimeout.X_REQUEST_TIMEOUT, time.toMillis() + "ms");
        return this;
    }

    ExchangeFixture withoutFiles() {
        pool = POOL_WITHOUT_FILES;
        return this;
    }

    ExchangeFixture withRetry() {
        withRetryBudget();
        retry = new RetryPolicy(new RetryProperties(2, null, BACKOFF, Set.of(503)));
        return this;
    }

    ExchangeFixture withRetry(Duration attemptTimeout) {
        withRetryBudget();
        retry = new RetryPolicy(new RetryProperties(2, attemptTimeout, BACKOFF, Set.of(503)));
        return this;
    }

    /** Answers with this status are not recorded as failures. */
    ExchangeFixture withoutFailure(int status) {
        failures.clear(status);
        return this;
    }

    /** Sets the route's probes. */
    ExchangeFixture withProbes(ProbeMode mode) {
        probeMode = mode;
        return this;
    }

    /** The backend has another route; the exchange's one is told apart from it. */
    RouteHealth withOtherRoute() {
        BackendRoutes routes = health.role().routes();
        Map<String, RouteHealth> planned = routes.plan(Set.of("orders", "others"));
        routes.replace(planned.values());
        RouteHealth own = Objects.requireNonNull(planned.get("orders"));
        routeHealth = own;
        return own;
    }

    ExchangeFixture withPriority(Priority ofRoute) {
        priority = ofRoute;
        return this;
    }

    /** The caller's address names the tenant. */
    ExchangeFixture withTenant(String name) {
        caller.tenant = name;
        return withTenants("client-address");
    }

    /** The backend's calls have tenants. */
    ExchangeFixture withTenants(String key) {
        tenants = new Tenants(TenantKey.of(key), this::now);
        return this;
    }

    Tenants.Figures tenants() {
        return Objects.requireNonNull(tenants).figures();
    }

    /** The route may be used from these networks only, unless its rule is not enforced. */
    ExchangeFixture withAllowedNetworks(String... networks) {
        access = new AddressRule(new AccessProperties(List.of(networks), List.of(), isAccessEnforced));
        return this;
    }

    /** The route requires a proof of identity. */
    ExchangeFixture withAuthentication(AuthenticationRule rule) {
        authentication = rule;
        return this;
    }

    /** The other backend decides whether a request may use the route; it gives the field {@code x-user}. */
    ExchangeFixture withAuthorizer(OnFailure onFailure) {
        return withAuthorizer(onFailure, null);
    }

    /** The same with a cache of its answers, perhaps together with other exchanges; null: none. */
    ExchangeFixture withAuthorizer(OnFailure onFailure, @Nullable AuthorizationCache answers) {
        authorization = new AuthorizationRule(new AuthorizeProperties(
                "other", "/verify", List.of("authorization"), List.of("x-user"), onFailure, null));
        knownAnswers = answers;
        return this;
    }

    /** Each address may have so many calls under way. */
    ExchangeFixture withCallsPerKey(int calls, boolean enforce) {
        callsPerKey = CallsPerKey.of(new MaxConcurrentPerKeyProperties("client-address", calls, enforce), null);
        return this;
    }

    /** The route has a quota of this many requests a minute for all callers together. */
    ExchangeFixture withRateLimit(int permits, boolean enforce) {
        return withRateLimit(permits, enforce, null);
    }

    /**
     * The same with a counter that all gateways share.
     *
     * @param shared null: this gateway counts by itself
     */
    ExchangeFixture withRateLimit(int permits, boolean enforce, @Nullable SharedBuckets shared) {
        rateLimiter = RateLimiter.of(
                "orders",
                new RateLimitProperties("route", permits, Duration.ofMinutes(1), null, 1_000, enforce, shared != null),
                null,
                shared,
                this::now);
        return this;
    }

    /** The route has this rate limit, perhaps together with other exchanges. */
    ExchangeFixture withRateLimiter(RateLimiter shared) {
        rateLimiter = shared;
        return this;
    }

    /** Takes the permits of the rate limit. */
    ExchangeFixture useUpQuota() {
        RateLimiter limiter = Objects.requireNonNull(rateLimiter);
        while (limiter.take(caller.headers, caller::callerNetwork, claim -> null)
                .isAllowed()) {
            // Until the bucket is empty.
        }
        return this;
    }

    /** The start of every attempt fails. */
    ExchangeFixture withFailingStart() {
        startFailure = new IllegalArgumentException("no such variable");
        return this;
    }

    ExchangeFixture withStaticFallback() {
        fallback = fallback(null);
        return this;
    }

    ExchangeFixture withOtherBackend() {
        fallback = fallback("other");
        return this;
    }

    /** The route has a last good answer to the request. */
    ExchangeFixture withLastGood() {
        LastGoodStore store = new LastGoodStore(
                new LastGoodMemoryProperties(DataSize.ofMegabytes(1)), this::now, () -> 0, Runnable::run);
        LastGood known = new LastGood(
                new LastGoodProperties(Duration.ofMinutes(10), DataSize.ofKilobytes(64), List.of()),
                new AnswerSpace("orders"),
                store,
                "");
        LastGoodRecording recording = Objects.requireNonNull(known.record(
                new LastGoodRequest(HttpMethod.GET, "/", caller.headers, new DefaultHttpHeaders(), ""),
                200,
                new DefaultHttpHeaders().set("content-length", "5")));
        recording.add(Unpooled.copiedBuffer("known", StandardCharsets.UTF_8));
        recording.complete();
        lastGood = known;
        return this;
    }

    /** No protection is enforced; every refusal is counted. */
    ExchangeFixture withoutEnforcement() {
        enforcesDeadline = false;
        for (QueueingBulkhead unenforced : List.of(bulkhead, otherBulkhead)) {
            unenforced.enforce(false);
            Objects.requireNonNull(unenforced.dryRun()).resize(1, 0);
        }
        health.configure(TestHealth.unenforced(health.settings()));
        otherHealth.configure(TestHealth.unenforced(otherHealth.settings()));
        return this;
    }

    /** The bulkhead that counts while no protection is enforced. */
    QueueingBulkhead dryRun() {
        return Objects.requireNonNull(bulkhead.dryRun());
    }

    private static Fallback fallback(@Nullable String other) {
        return new Fallback(new FallbackProperties(
                other,
                200,
                "text/plain",
                "instead",
                Map.of(),
                Set.of(Reason.CONNECT_FAILED, Reason.BULKHEAD_FULL, Reason.FORBIDDEN),
                1));
    }

    // ---------------------------------------------------------------- events

    ExchangeFixture start() {
        if (exchange == null) {
            create();
        }
        exchange().start();
        return this;
    }

    /** Creates the exchange without starting it. */
    ExchangeFixture create() {
        exchange = new Exchange(engine, route(), caller, now());
        return this;
    }

    Route route() {
        return TestRoute.to(backend("orders", bulkhead, health), ended::add)
                .deadline(DEADLINE)
                .mode(mode)
                .limit(routeLimit)
                .callsPerKey(callsPerKey)
                .retry(retry)
                .fallback(fallback, backend("other", otherBulkhead, otherHealth))
                .learning(overdue, inFlight, usualTime)
                .probe(probeMode)
                .health(routeHealth)
                .priority(priority)
                .callers(access, authentication, rateLimiter)
                .authorizer(authorizer())
                .lastGood(lastGood)
                .build();
    }

    private @Nullable Authorizer authorizer() {
        AuthorizationRule rule = authorization;
        return rule == null
                ? null
                : Authorizer.of(
                        rule,
                        knownAnswers,
                        "orders",
                        backend("other", otherBulkhead, otherHealth),
                        Priority.NORMAL,
                        inFlight,
                        null);
    }

    private Backend backend(String name, QueueingBulkhead calls, Health usedHealth) {
        BackendSettings settings = new BackendSettings(
                name,
                http2,
                DEADLINE.toNanos(),
                MAX_WAIT.toNanos(),
                CONNECT_TIMEOUT.toNanos(),
                STREAM_IDLE.toNanos(),
                failures,
                BackendSettings.bits(Set.of(14)),
                enforcesDeadline);
        RetryBudget retryBudget = new RetryBudget(new RetryBudgetProperties(20, retriesPerSecond), now());
        return new Backend(
                settings,
                new Compartment(
                        calls,
                        new LimitInForce(calls, limit),
                        streams,
                        new InstancesInForce(
                                Instances.of(new Instance(URI.create("http://orders:8080"), pool, usedHealth))),
                        serviceTime,
                        new InFlightShare()),
                retryBudget,
                tenants,
                observer);
    }

    Exchange exchange() {
        Exchange current = exchange;
        if (current == null) {
            throw new IllegalStateException("no exchange is created");
        }
        return current;
    }

    /** The facts of the exchange. */
    ExchangeRecord record() {
        return exchange().record();
    }

    Fallback fallback() {
        Fallback given = fallback;
        if (given == null) {
            throw new IllegalStateException("no fallback");
        }
        return given;
    }

    /** The last attempt. */
    FakeAttempt attempt() {
        return attempts.getLast();
    }

    long now() {
        return channel.eventLoop().ticker().nanoTime();
    }

    void advance(Duration time) {
        long step = TimeUnit.MILLISECONDS.toNanos(STEP_MILLIS);
        long left = time.toNanos();
        do {
            channel.advanceTimeBy(Math.min(left, step), TimeUnit.NANOSECONDS);
            channel.runPendingTasks();
            left -= step;
        } while (left > 0);
    }

    /** Time passes while the event loop pauses. */
    void pause(Duration time) {
        channel.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
        channel.runPendingTasks();
    }

    /** The deadline passes while the gateway's processor is throttled: 100 ms of each 500 ms. */
    void passDeadlineThrottled() {
        for (Duration left = DEADLINE; left.isPositive(); left = left.minusMillis(500)) {
            pause(Duration.ofMillis(100));
            advance(Duration.ofMillis(400));
        }
    }

    /**
     * Records enough calls of this duration for the route's usual time.
     *
     * @return the usual time
     */
    Duration learnUsualTime(Duration actual) {
        for (int i = 0; i < 10; i++) {
            usualTime.record(actual.toNanos(), now());
        }
        Duration usual = Duration.ofNanos(usualTime.nanos(now()));
        assertThat(usual).isCloseTo(actual, actual.dividedBy(30));
        return usual;
    }

    /** Takes the backend's only permit. */
    ExchangeFixture takePermit() {
        permitTaken = bulkhead.tryAcquire();
        return this;
    }

    void freePermit() {
        if (permitTaken) {
            permitTaken = false;
            bulkhead.release();
        }
    }

    /** From now on the event loop rejects tasks. */
    void stopLoop() {
        ((StoppableChannel) channel).stopped = true;
    }

    /** How often the exchange's timer fires within a time. */
    int timersWithin(Duration time) {
        long end = now() + time.toNanos();
        int timers = 0;
        while (true) {
            long next = channel.runScheduledPendingTasks();
            assertThat(next).isPositive();
            if (now() + next > end) {
                return timers;
            }
            channel.advanceTimeBy(next, TimeUnit.NANOSECONDS);
            timers++;
        }
    }

    /** Runs an event before the event loop takes its next task, as if another thread caused it then. */
    void beforeNextTask(Runnable event) {
        ((StoppableChannel) channel).beforeNextTask = event;
    }

    /** Like {@link #advance}, but the timer fires before the tasks that are already queued. */
    void advanceBeforeTasks(Duration time) {
        channel.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
        exchange().timePassed();
    }

    /** Completes the exchange if it has not ended: the backend answers, and the caller reads the answer. */
    void finish() {
        channel.runPendingTasks();
        if (caller.webSocket) {
            exchange().tunnelClosed();
        } else if (!attempts.isEmpty()) {
            attempt().answers();
        }
        exchange().flushed();
        channel.runPendingTasks();
        freePermit();
    }

    /** The request has a body, which the test sends. */
    ExchangeFixture withUpload() {
        return withUpload(new Upload());
    }

    private ExchangeFixture withUpload(Upload given) {
        upload = given;
        caller.upload = given.source.flux();
        return withRequestBody();
    }

    Upload upload() {
        Upload current = upload;
        if (current == null) {
            throw new IllegalStateException("no upload");
        }
        return current;
    }

    /** The body of a request, as a caller sends it. It obeys the demand. */
    static final class Upload {

        final TestPublisher<ByteBuf> source = TestPublisher.create();

        /** Sends a part. It is lent, as by Reactor Netty. Returns its buffer. */
        ByteBuf sends(String part) {
            ByteBuf buffer = Unpooled.copiedBuffer(part, StandardCharsets.UTF_8);
            source.next(buffer);
            buffer.release();
            return buffer;
        }

        void sends(int bytes) {
            sends("x".repeat(bytes));
        }

        void ends() {
            source.complete();
        }

        void breaksOff() {
            source.error(new IOException("reset"));
        }
    }

    /** The exchange has ended exactly once and has released everything. */
    void assertEndedCleanly() {
        assertThat(ended).as("ended").containsExactly(record());
        assertThat(bulkhead.inUse()).as("permits in use").isZero();
        assertThat(bulkhead.queued()).as("queued calls").isZero();
        assertThat(streams.inUse()).as("permits of streams in use").isZero();
        assertThat(otherBulkhead.inUse())
                .as("permits of the fallback backend in use")
                .isZero();
        assertThat(routeLimit.inUse()).as("permits of the route in use").isZero();
        if (callsPerKey != null) {
            assertThat(callsPerKey.keys()).as("callers with calls under way").isZero();
        }
        Fallback other = fallback;
        if (other != null) {
            assertThat(other.limit().inUse())
                    .as("permits of the fallback in use")
                    .isZero();
        }
        assertThat(health.overdue()).as("overdue calls").isZero();
        assertThat(overdue.held()).as("counted calls of a route that hangs").isZero();
        assertThat(health.probes().underWay()).as("probes").isZero();
        assertThat(engine.readAheadBytes()).as("bytes read ahead").isZero();
        assertThat(engine.inFlight()).as("in flight").isZero();
        assertThat(overload.sharedInFlight()).as("places in flight").isZero();
        assertThat(engine.streams()).as("streams in flight").isZero();
        assertThat(inFlight.isZero()).as("no exchange in flight on the route").isTrue();
        assertThat(limit.ended).as("one sample ended for each permit").hasSize(limit.started);
        OverloadSampler measuring = sampler;
        if (measuring != null) {
            // The measurement stops when its timer fires next.
            measuring.close();
            advance(Duration.ofMillis(2 * STEP_MILLIS));
        }
        assertThat(channel.runScheduledPendingTasks())
                .as("time to the next timer")
                .isEqualTo(-1);
        assertThat(attempts)
                .allSatisfy(attempt ->
                        assertThat(attempt.cancelled).as("times cancelled").isLessThanOrEqualTo(1));
    }

    /** The calls that the breaker recorded: succeeded/failed. */
    String breakerCounts() {
        CircuitBreaker.Metrics metrics = health.resilience4j().getMetrics();
        return metrics.getNumberOfSuccessfulCalls() + "/" + metrics.getNumberOfFailedCalls();
    }

    /** The recorded reason and status. */
    String outcome() {
        Reason reason = record().reason();
        return (reason == null ? "" : reason.word() + " ") + record().status();
    }

    /** Keeps the samples of the backends' limits. */
    static final class RecordingLimit implements Limit {

        int started;
        final List<Evidence> ended = new ArrayList<>();
        final List<Duration> latencies = new ArrayList<>();

        @Override
        public int value() {
            return 1;
        }

        @Override
        public int started(long nowNanos, int inUse) {
            assertThat(inUse).as("permits in use, the call's included").isPositive();
            return ++started;
        }

        @Override
        public void ended(long nowNanos, int mark, long latencyNanos, Evidence evidence, int inUse) {
            assertThat(mark).as("mark of a started call").isBetween(1, started);
            ended.add(evidence);
            latencies.add(Duration.ofNanos(latencyNanos));
        }

        @Override
        public Beliefs beliefs() {
            return new Beliefs(1, 0, 0, 0, Change.INITIAL, 0, 0);
        }

        @Override
        public long changes(Change reason) {
            return 0;
        }
    }

    /** Keeps the measurements of the backends. */
    static final class RecordingObserver implements BackendObserver {

        final List<Reason> wouldRefuse = new ArrayList<>();
        final List<Duration> served = new ArrayList<>();
        final List<Priority> dispatched = new ArrayList<>();
        final List<MoveReason> moved = new ArrayList<>();
        /** Whether each attempt was the first one of its exchange with the backend. */
        final List<Boolean> attempted = new ArrayList<>();

        @Override
        public void dispatched(Priority priority, long queueNanos, long leftNanos) {
            dispatched.add(priority);
        }

        @Override
        public void served(long backendNanos) {
            served.add(Duration.ofNanos(backendNanos));
        }

        @Override
        public void attempted(boolean isFirst) {
            attempted.add(isFirst);
        }

        @Override
        public void movedToStreams(MoveReason reason) {
            moved.add(reason);
        }

        @Override
        public void retried(boolean allowed) {}

        @Override
        public void wouldRefuse(Reason reason) {
            wouldRefuse.add(reason);
        }
    }

    /**
     * A channel whose event loop can stop. The event loop is a proxy, since Netty's class is not accessible.
     */
    private static final class StoppableChannel extends EmbeddedChannel {

        private final EventLoop stoppable;
        private boolean stopped;
        private @Nullable Runnable beforeNextTask;

        StoppableChannel() {
            EventLoop loop = super.eventLoop();
            InvocationHandler handler = (proxy, method, arguments) -> {
                if (method.getName().equals("equals")) {
                    return proxy == arguments[0];
                }
                if (stopped && method.getName().equals("execute")) {
                    throw new RejectedExecutionException("event executor terminated");
                }
                Runnable event = beforeNextTask;
                if (event != null && method.getName().equals("execute")) {
                    beforeNextTask = null;
                    event.run();
                }
                try {
                    return method.invoke(loop, arguments);
                } catch (InvocationTargetException e) {
                    throw e.getCause();
                }
            };
            stoppable = (EventLoop) Proxy.newProxyInstance(
                    ExchangeFixture.class.getClassLoader(), new Class<?>[] {EventLoop.class}, handler);
        }

        @Override
        @SuppressWarnings("ConstantValue") // Null while the superclass is constructed.
        public EventLoop eventLoop() {
            return stoppable == null ? super.eventLoop() : stoppable;
        }
    }
}
