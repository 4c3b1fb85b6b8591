package io.weir.apply;

import io.weir.access.AddressRule;
import io.weir.apply.GeneralRoutesFactory.RouteSource;
import io.weir.authentication.AuthenticationProperties;
import io.weir.authentication.AuthenticationRule;
import io.weir.authentication.Issuer;
import io.weir.authentication.ReservedFields;
import io.weir.authentication.RouteAuthenticationProperties;
import io.weir.authorization.AuthorizationCache;
import io.weir.authorization.AuthorizationRule;
import io.weir.authorization.AuthorizeProperties;
import io.weir.compression.CompressionMemory;
import io.weir.compression.CompressionProperties;
import io.weir.compression.CompressionRule;
import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import io.weir.cors.CorsProperties;
import io.weir.cors.CorsRule;
import io.weir.door.AnswerRules;
import io.weir.door.BackendRoutingFilter;
import io.weir.door.FrontDoor;
import io.weir.door.RouteAnswers;
import io.weir.door.RouteCompiler;
import io.weir.door.RouteTable;
import io.weir.door.RouteView;
import io.weir.door.Routes;
import io.weir.door.WeightedGroups;
import io.weir.engine.Authorizer;
import io.weir.engine.Backend;
import io.weir.engine.InFlightCounter;
import io.weir.engine.Mode;
import io.weir.engine.Route;
import io.weir.engine.RouteObserver;
import io.weir.errorpage.ErrorPages;
import io.weir.fallback.Fallback;
import io.weir.fallback.FallbackProperties;
import io.weir.health.RouteHealth;
import io.weir.hedge.HedgePolicy;
import io.weir.instance.HashKey;
import io.weir.lastgood.AnswerSpace;
import io.weir.lastgood.LastGood;
import io.weir.lastgood.LastGoodProperties;
import io.weir.lastgood.LastGoodStore;
import io.weir.limit.GuaranteedShare;
import io.weir.limit.OverdueCalls;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.UsualTime;
import io.weir.ratelimit.CallsPerKey;
import io.weir.ratelimit.MaxConcurrentPerKeyProperties;
import io.weir.ratelimit.RateLimitProperties;
import io.weir.ratelimit.RateLimiter;
import io.weir.ratelimit.SharedBuckets;
import io.weir.retry.RetryPolicy;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.cloud.gateway.route.RouteDefinition;

/**
 * Creates {@link Routes} from Spring Cloud Gateway's route definitions and Weir's properties of single
 * routes.
 */
public final class RoutesFactory {

    private static final RouteProperties DEFAULTS = new RouteProperties(
            null,
            Mode.REQUEST,
            null,
            true,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            Priority.NORMAL,
            null,
            false,
            null,
            null,
            null,
            null,
            null);

    private final GeneralRoutesFactory generalRoutes;
    private final RouteCompiler compiler;
    private final RouteRecorders recorders;
    private final LongSupplier nanoClock;
    private final CompressionMemory compressionMemory;
    private final LastGoodStore lastGoodStore;
    private final String priorityHeader;
    private final @Nullable SharedBuckets sharedBuckets;
    private final Consumer<RouteHealth> onStalled;
    /** The most recent plan; guarded by this. */
    private @Nullable Plan lastPlan;

    /**
     * A factory.
     *
     * @param nanoClock the clock of rate limits
     * @param compressionMemory limits the compressions of all routes
     * @param lastGoodStore the last good answers of all routes
     * @param priorityHeader the field in which the gateway passes on a priority, in lower case; empty: none
     * @param sharedBuckets the counter of rate limits that all gateways share; null: none
     * @param onStalled receives each route that opens since its calls hang; must not block
     */
    public RoutesFactory(
            GeneralRoutesFactory generalRoutes,
            RouteCompiler compiler,
            RouteRecorders recorders,
            LongSupplier nanoClock,
            CompressionMemory compressionMemory,
            LastGoodStore lastGoodStore,
            String priorityHeader,
            @Nullable SharedBuckets sharedBuckets,
            Consumer<RouteHealth> onStalled) {
        this.generalRoutes = generalRoutes;
        this.compiler = compiler;
        this.recorders = recorders;
        this.nanoClock = nanoClock;
        this.compressionMemory = compressionMemory;
        this.lastGoodStore = lastGoodStore;
        this.priorityHeader = priorityHeader;
        this.sharedBuckets = sharedBuckets;
        this.onStalled = onStalled;
    }

    /** The compressions of all routes that are under way. */
    public CompressionMemory compressionMemory() {
        return compressionMemory;
    }

    /**
     * Planned routes: matched and compiled, but not yet connected to backends. Planning has no side effects.
     */
    static final class Plan {

        private final GeneralRoutesFactory.Result general;
        private final List<PlannedRoute> routes = new ArrayList<>();

        private Plan(GeneralRoutesFactory.Result general) {
            this.general = general;
        }
    }

    /**
     * Plans routes. Returns the previous plan if the definitions have not changed.
     *
     * @throws RuntimeException if a route cannot be created
     */
    synchronized Plan plan(GatewayProperties properties) {
        GeneralRoutesFactory.Result general = generalRoutes.create(properties);
        Plan before = lastPlan;
        if (before != null && before.general.equals(general)) {
            return before;
        }
        Plan plan = new Plan(general);
        for (RouteSource source : general.sources()) {
            RouteDefinition definition = source.definition();
            plan.routes.add(new PlannedRoute(
                    source, definition == null ? null : compiler.compile(definition, properties.getDefaultFilters())));
        }
        lastPlan = plan;
        return plan;
    }

    /**
     * Creates planned routes without changing the routes in force. A route that keeps its id also keeps its
     * permits in use and its time series.
     *
     * @param weir the properties of single routes, the callers' identities, and the error pages
     * @param issuers the issuers that routes can require, by name
     * @param backends the backends, by name
     * @param before the routes in force; null: none
     * @param changesInPlace receives the changes of shared parts, to be made when the new routes are put in
     *     force
     * @throws RuntimeException if a route cannot be created; then nothing remains of the new routes
     */
    Routes create(
            Plan plan,
            WeirProperties weir,
            Map<String, Issuer> issuers,
            Map<String, Backend> backends,
            @Nullable Routes before,
            Consumer<Runnable> changesInPlace) {
        Creation creation = new Creation(weir, issuers, backends, before, changesInPlace);
        try {
            return creation.routes(plan);
        } catch (RuntimeException e) {
            creation.newObservers.forEach(RouteRecorders::close);
            throw e;
        }
    }

    /** The creation of one generation of routes. */
    private final class Creation {

        private final Map<String, RouteProperties> properties;
        private final AuthenticationProperties authentication;
        private final AnswerRules ofNone;
        private final Map<String, Issuer> issuers;
        private final Map<String, Backend> backends;
        private final @Nullable Routes before;
        private final Consumer<Runnable> changesInPlace;
        /** The observers that the routes in force do not use. */
        private final List<RouteObserver> newObservers = new ArrayList<>();

        private final RouteHealths healths = new RouteHealths(onStalled);

        Creation(
                WeirProperties weir,
                Map<String, Issuer> issuers,
                Map<String, Backend> backends,
                @Nullable Routes before,
                Consumer<Runnable> changesInPlace) {
            this.properties = weir.routes();
            this.authentication = weir.authentication();
            this.ofNone = new AnswerRules(null, null, new ErrorPages(weir.errors()));
            this.issuers = issuers;
            this.backends = backends;
            this.before = before;
            this.changesInPlace = changesInPlace;
        }

        Routes routes(Plan plan) {
            plan.routes.forEach(
                    one -> healths.add(one.source().id(), backend(one.source().uri())));
            changesInPlace.accept(() -> healths.apply(backends.values()));
            List<RouteTable.Entry> entries = new ArrayList<>();
            Map<String, Route> byId = new LinkedHashMap<>();
            List<RouteView> views = new ArrayList<>();
            Set<String> pathPreserving = new HashSet<>();
            Map<String, AnswerRules> answers = new HashMap<>();
            for (PlannedRoute planned : plan.routes) {
                String id = planned.source().id();
                String whyGeneral = planned.whyGeneral();
                boolean compiled = whyGeneral == null;
                String door = compiled ? FrontDoor.COMPILED : FrontDoor.GENERAL;
                Backend backend = backend(planned.source().uri());
                Route route = backend == null ? null : route(id, backend, door);
                if (route != null) {
                    byId.put(id, route);
                }
                views.add(new RouteView(
                        id,
                        backend == null ? null : backend.name(),
                        door,
                        whyGeneral,
                        route == null ? null : route.rateLimiter(),
                        route == null ? null : route.hedge(),
                        planned.predicates()));
                boolean preservePath = properties.getOrDefault(id, DEFAULTS).preservePath();
                if (preservePath) {
                    pathPreserving.add(id);
                }
                AnswerRules rules = answerRules(id);
                answers.put(id, rules);
                entries.add(planned.entry(route, compiled, preservePath, rules));
            }
            changesInPlace.accept(() -> lastGoodStore.retain(spaces(byId)));
            WeightedGroups weights = weights(plan);
            return new Routes(
                    new RouteTable(entries, weights),
                    byId,
                    backends,
                    List.copyOf(views),
                    Set.copyOf(pathPreserving),
                    plan.general.routes(),
                    weights,
                    new RouteAnswers(answers, ofNone),
                    ReservedFields.of(authentication),
                    new InFlightCounter());
        }

        private AnswerRules answerRules(String id) {
            RouteProperties own = properties.getOrDefault(id, DEFAULTS);
            CorsProperties cors = own.cors();
            CompressionProperties compression = own.compression();
            return cors == null && compression == null
                    ? ofNone
                    : new AnswerRules(
                            cors == null ? null : new CorsRule(cors),
                            compression == null ? null : new CompressionRule(compression, compressionMemory),
                            ofNone.errorPages());
        }

        private WeightedGroups weights(Plan plan) {
            List<WeightedGroups.Member> members = plan.routes.stream()
                    .map(PlannedRoute::compilation)
                    .filter(Objects::nonNull)
                    .flatMap(compilation -> compilation.weights().stream())
                    .toList();
            return new WeightedGroups(members, id -> {
                String sticky = properties.getOrDefault(id, DEFAULTS).sticky();
                return sticky == null ? null : HashKey.of(sticky);
            });
        }

        private @Nullable Backend backend(URI uri) {
            return BackendRoutingFilter.SCHEME.equals(uri.getScheme()) ? backends.get(uri.getHost()) : null;
        }

        private Route route(String id, Backend backend, String door) {
            RouteProperties own = properties.getOrDefault(id, DEFAULTS);
            Route old = before == null ? null : before.route(id);
            Route known = sameBackend(backend, old);
            Duration deadline = own.deadline();
            RateLimiter rateLimiter = rateLimiter(id, own.rateLimit(), old == null ? null : old.rateLimiter());
            QueueingBulkhead limit = limit(own, old == null ? null : old.limit());
            CallsPerKey callsPerKey = callsPerKey(own.maxConcurrentPerKey(), old == null ? null : old.callsPerKey());
            FallbackProperties fallback = own.fallback();
            String fallbackBackend = fallback == null ? null : fallback.backend();
            InFlightCounter inFlight = new InFlightCounter();
            return new Route(
                    id,
                    backend,
                    deadline == null ? backend.settings().deadlineNanos() : deadline.toNanos(),
                    own.mode(),
                    limit,
                    callsPerKey,
                    own.retry() == null ? null : new RetryPolicy(own.retry()),
                    own.hedge() == null ? null : HedgePolicy.of(own.hedge(), known == null ? null : known.hedge()),
                    fallback == null ? null : fallback(fallback, old == null ? null : old.fallback()),
                    fallbackBackend == null ? null : backends.get(fallbackBackend),
                    observer(id, backend, door, limit, callsPerKey, rateLimiter, old == null ? null : old.observer()),
                    known == null ? new OverdueCalls() : known.overdue(),
                    inFlight,
                    healths.of(id, backend),
                    known == null ? new UsualTime() : known.usualTime(),
                    own.probe() == null ? null : own.probe().mode(),
                    own.priority(),
                    own.guaranteedShare() == null
                            ? null
                            : GuaranteedShare.of(own.guaranteedShare(), known == null ? null : known.guaranteedShare()),
                    own.access() == null ? null : new AddressRule(own.access()),
                    own.authentication() == null ? null : rule(id, own.authentication()),
                    own.authorize() == null
                            ? null
                            : authorizer(id, own, own.authorize(), inFlight, old == null ? null : old.authorizer()),
                    rateLimiter,
                    own.answer() == null ? null : own.answer().answer(),
                    own.lastGood() == null
                            ? null
                            : lastGood(id, own.lastGood(), known == null ? null : known.lastGood()));
        }

        /** The answers of a route stay as long as they are found by the same requests. */
        private LastGood lastGood(String id, LastGoodProperties own, @Nullable LastGood old) {
            AnswerSpace space = old != null && old.hasKeyOf(own) ? old.space() : new AnswerSpace(id);
            return new LastGood(own, space, lastGoodStore, priorityHeader);
        }

        private static Set<AnswerSpace> spaces(Map<String, Route> byId) {
            return byId.values().stream()
                    .map(Route::lastGood)
                    .filter(Objects::nonNull)
                    .map(LastGood::space)
                    .collect(Collectors.toSet());
        }

        private Authorizer authorizer(
                String id,
                RouteProperties own,
                AuthorizeProperties authorize,
                InFlightCounter inFlight,
                @Nullable Authorizer old) {
            Backend asked = backends.get(authorize.backend());
            if (asked == null) {
                throw new IllegalArgumentException("weir.routes." + id + ".authorize.backend: " + authorize.backend()
                        + " (expected: one of weir.backends)");
            }
            // A reload forgets the answers.
            AuthorizationCache cache = authorize.cache() == null
                    ? null
                    : new AuthorizationCache(authorize.cache(), nanoClock, ForkJoinPool.commonPool());
            return Authorizer.of(new AuthorizationRule(authorize), cache, id, asked, own.priority(), inFlight, old);
        }

        private AuthenticationRule rule(String id, RouteAuthenticationProperties own) {
            List<Issuer> accepted = own.issuers().stream()
                    .map(name -> {
                        Issuer issuer = issuers.get(name);
                        if (issuer == null) {
                            throw new IllegalArgumentException("weir.routes." + id + ".authentication.issuers: " + name
                                    + " (expected: one of weir.authentication.issuers)");
                        }
                        return issuer;
                    })
                    .toList();
            return new AuthenticationRule(own, accepted, authentication.identityHeader());
        }

        private static @Nullable CallsPerKey callsPerKey(
                @Nullable MaxConcurrentPerKeyProperties own, @Nullable CallsPerKey old) {
            return own == null ? null : CallsPerKey.of(own, old);
        }

        private @Nullable RateLimiter rateLimiter(
                String id, @Nullable RateLimitProperties own, @Nullable RateLimiter old) {
            return own == null ? null : RateLimiter.of(id, own, old, sharedBuckets, nanoClock);
        }

        /** The old route if it has the same backend: the measurements of its calls then remain true. */
        private static @Nullable Route sameBackend(Backend backend, @Nullable Route old) {
            return old != null && old.backend().name().equals(backend.name()) ? old : null;
        }

        private RouteObserver observer(
                String id,
                Backend backend,
                String door,
                @Nullable QueueingBulkhead limit,
                @Nullable CallsPerKey callsPerKey,
                @Nullable RateLimiter rateLimiter,
                @Nullable RouteObserver old) {
            RouteObserver observer = recorders.observer(id, backend, door, limit, callsPerKey, rateLimiter, old);
            if (observer == old) {
                changesInPlace.accept(() -> RouteRecorders.followLimits(observer, limit, callsPerKey, rateLimiter));
            } else {
                newObservers.add(observer);
            }
            return observer;
        }

        private @Nullable QueueingBulkhead limit(RouteProperties own, @Nullable QueueingBulkhead old) {
            Integer maxConcurrentCalls = own.maxConcurrentCalls();
            if (maxConcurrentCalls == null) {
                return null;
            }
            QueueingBulkhead limit = old == null ? new QueueingBulkhead(maxConcurrentCalls, 0) : old;
            changesInPlace.accept(() -> {
                limit.resize(maxConcurrentCalls, 0);
                limit.enforce(own.maxConcurrentCallsEnforce());
            });
            return limit;
        }

        private Fallback fallback(FallbackProperties own, @Nullable Fallback old) {
            if (old == null) {
                return new Fallback(own);
            }
            changesInPlace.accept(() -> old.limit().resize(own.maxConcurrentCalls(), 0));
            return new Fallback(own, old.limit());
        }
    }
}
