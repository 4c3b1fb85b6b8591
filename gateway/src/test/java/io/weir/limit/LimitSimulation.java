package io.weir.limit;

import io.weir.limit.Limit.Evidence;
import io.weir.limit.QueueingBulkhead.Entry;
import io.weir.limit.QueueingBulkhead.Overflow;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Gateways in front of one backend, in virtual time: the real {@link Limit} and the real
 * {@link QueueingBulkhead}, with simulated callers and a simulated backend. Callers arrive at random
 * (exponential intervals). If a call's deadline passes, the gateway answers it, and the backend continues to
 * work on it, which is the worst case. Times are in seconds.
 */
final class LimitSimulation {

    private static final double ROUND_TRIP = .0002;
    private static final double REFUSAL = .0003;
    /** The pause of a caller, of those in a closed loop, after a call without an answer. */
    private static final double PAUSE = .01;
    /** The time constant at which a cold JVM becomes fast. */
    private static final double COLD_SECONDS = 2.5;
    /** The variation of the intervals of a stream. */
    private static final double JITTER = .1;

    /** The backend's behaviour when it has more calls than workers. */
    enum Kind {
        /** They wait in a queue without a bound. */
        FIFO,
        /** They wait in a queue of half as many places as there are workers; a call beyond it gets a 503. */
        BOUNDED,
        /** All of them share the workers. */
        SHARING,
        /** As SHARING; beyond 1.5 calls for each worker (at least 2), contention costs throughput. */
        COLLAPSE
    }

    /** The distribution of the time that one worker needs for one call; all of mean 1. */
    enum Service {
        DETERMINISTIC {
            @Override
            double sample(RandomGenerator random) {
                return 1;
            }
        },
        EXPONENTIAL {
            @Override
            double sample(RandomGenerator random) {
                return random.nextExponential();
            }
        },
        /** One in twenty takes ten times as long. */
        BIMODAL {
            @Override
            double sample(RandomGenerator random) {
                return (random.nextDouble() < .05 ? 10 : 1) / 1.45;
            }
        },
        /** Sigma 1. */
        LOGNORMAL {
            @Override
            double sample(RandomGenerator random) {
                return Math.exp(random.nextGaussian() - .5);
            }
        },
        /** The 99th percentile is 75 times the median. */
        HEAVY_TAILED {
            @Override
            double sample(RandomGenerator random) {
                return Math.exp(HEAVY_SIGMA * random.nextGaussian()) / MEAN_OF_HEAVY;
            }
        };

        private static final double HEAVY_SIGMA = Math.log(75) / 2.3263;

        /** In medians. */
        static final double MEAN_OF_HEAVY = Math.exp(HEAVY_SIGMA * HEAVY_SIGMA / 2);

        abstract double sample(RandomGenerator random);
    }

    /**
     * A time with one offered rate.
     *
     * @param ramp whether the rate changes linearly, from the rate of the phase before
     */
    record Phase(double seconds, double rate, boolean ramp) {
        Phase(double seconds, double rate) {
            this(seconds, rate, false);
        }
    }

    /**
     * Calls of one route at even intervals, in addition to those of the phases.
     *
     * @param service the time that the backend needs for each, in seconds
     * @param atOnce the calls of each moment
     */
    record Stream(double from, double until, double rate, double service, int atOnce) {
        Stream(double from, double until, double rate, double service) {
            this(from, until, rate, service, 1);
        }

        /** Calls of one moment. */
        static Stream batch(double at, double service, int calls) {
            return new Stream(at, at, 1, service, calls);
        }
    }

    /** A change of the backend at a moment. */
    record Event(double at, Consumer<LimitSimulation> change) {}

    /** What the backend says to a gateway with each answer. */
    interface Statement {

        /**
         * The gateway reads an answer.
         *
         * @param inUse the calls of the gateway
         * @param inBackend the calls in the backend, abandoned ones included
         * @param onChange follows the limit
         */
        void said(Limit limit, int inUse, int inBackend, Runnable onChange, long nowNanos);
    }

    /** Creates the limit of one gateway; the bulkhead follows it through {@code onChange}. */
    interface LimitFactory {
        Limit create(double deadline, int gateway, Runnable onChange);
    }

    /** The settings of one run. */
    static final class Setup {
        Kind kind = Kind.FIFO;
        int workers;
        double service;
        Service distribution = Service.DETERMINISTIC;
        List<Phase> phases = List.of();
        List<Event> events = List.of();
        List<Stream> streams = List.of();
        double deadline = .8;
        int gateways = 1;
        int burst = 1;
        /** Callers of whom each calls again as soon as it has a result; in addition to the phases' rates. */
        int callers;

        /** The longest additional time of the first calls, in seconds; it decays within some seconds. */
        double lateness;

        int retries;
        boolean cancels;
        long seed = 1;
        double[] priorities = {};
        double[] tenants = {};
        boolean ignorePriorities;
        LimitFactory limit = fixed(8);
        Statement statement = (told, inUse, calls, onChange, nowNanos) -> {};
        Overflow overflow = Overflow.EVICT_OLDEST;

        double capacity() {
            return workers / service;
        }

        Setup backend(Kind newKind, int newWorkers, double newService, Service newDistribution) {
            kind = newKind;
            workers = newWorkers;
            service = newService;
            distribution = newDistribution;
            return this;
        }

        Setup phases(Phase... newPhases) {
            phases = List.of(newPhases);
            return this;
        }

        Setup events(Event... newEvents) {
            events = List.of(newEvents);
            return this;
        }

        Setup streams(Stream... newStreams) {
            streams = List.of(newStreams);
            return this;
        }

        Setup limit(LimitFactory factory) {
            limit = factory;
            return this;
        }

        Setup statement(Statement newStatement) {
            statement = newStatement;
            return this;
        }

        Setup seed(long newSeed) {
            seed = newSeed;
            return this;
        }

        LimitSimulation run() {
            LimitSimulation simulation = new LimitSimulation(this);
            simulation.run();
            return simulation;
        }
    }

    static LimitFactory fixed(int limit) {
        return (deadline, gateway, onChange) -> new FixedLimit(limit);
    }

    /** The results of one phase. */
    static final class Result {
        int offered;
        /** Answered in time, by the phase in which the call arrived. */
        int answered;
        /** Answered in time, by the phase in which the answer came. */
        int goodput;

        int refused;
        int timedOut;
        int failed;
        double backendSeconds;
        double limitSum;
        int limitCount;
        private float[] latencies = new float[1024];
        private int latencyCount;

        void answer(double total, double inBackend) {
            answered++;
            backendSeconds += inBackend;
            if (latencyCount == latencies.length) {
                latencies = Arrays.copyOf(latencies, 2 * latencyCount);
            }
            latencies[latencyCount++] = (float) total;
        }

        double percentile(double share) {
            if (latencyCount == 0) {
                return Double.NaN;
            }
            float[] sorted = Arrays.copyOf(latencies, latencyCount);
            Arrays.sort(sorted);
            return sorted[(int) ((latencyCount - 1) * share)];
        }

        double meanBackendLatency() {
            return backendSeconds / Math.max(1, answered);
        }

        double meanLimit() {
            return limitSum / Math.max(1, limitCount);
        }

        double answeredShare() {
            return (double) answered / Math.max(1, offered);
        }

        double refusedShare() {
            return (double) (refused + failed) / Math.max(1, offered);
        }
    }

    private enum Step {
        ARRIVAL,
        ANSWER,
        REFUSAL_OF_BACKEND,
        DEADLINE,
        EXPIRY,
        SERVED,
        SHARED_SERVED,
        CHANGE,
        RETRY,
        CALL_AGAIN,
        STREAM,
        LONG_WAIT
    }

    private static final class Scheduled implements Comparable<Scheduled> {
        final double at;
        final long order;
        final Step step;
        final int number;
        final @Nullable Call call;

        Scheduled(double at, long order, Step step, int number, @Nullable Call call) {
            this.at = at;
            this.order = order;
            this.step = step;
            this.number = number;
            this.call = call;
        }

        Call requireCall() {
            return Objects.requireNonNull(call);
        }

        @Override
        public int compareTo(Scheduled other) {
            int byTime = Double.compare(at, other.at);
            return byTime != 0 ? byTime : Long.compare(order, other.order);
        }
    }

    private final class Gateway {
        final QueueingBulkhead bulkhead;
        final Limit limit;
        final List<Result> results = newResults(setup);

        Gateway(int number) {
            limit = setup.limit.create(setup.deadline, number, this::resize);
            bulkhead = new QueueingBulkhead(limit.value(), capacity(), setup.overflow);
        }

        private void resize() {
            bulkhead.resize(limit.value(), capacity());
        }

        /**
         * A fixed limit has the queue of the simulation's best fixed limit: as long as can be served in time.
         */
        private int capacity() {
            return !(limit instanceof FixedLimit)
                    ? limit.queueCapacity()
                    : (int) Math.max(8, Math.max(2 * limit.value(), setup.deadline / 2 * setup.capacity()));
        }
    }

    private final class Call extends Waiter {
        final Gateway gateway;
        final int phase;
        final double arrivedAt;
        final double work;
        final int attempt;
        final Priority priority;
        final int tenant;
        double dispatchedAt;
        double doneAtVirtual;
        int mark;
        boolean waits;
        boolean over;
        boolean isLooped;

        Call(Gateway gateway, int attempt, Priority priority, int tenant, int phase) {
            this(gateway, attempt, priority, tenant, phase, setup.service * setup.distribution.sample(workRandom));
        }

        Call(Gateway gateway, int attempt, Priority priority, int tenant, int phase, double work) {
            this.gateway = gateway;
            this.phase = phase;
            this.arrivedAt = now;
            this.attempt = attempt;
            this.priority = priority;
            this.tenant = tenant;
            this.work = work;
        }

        @Override
        protected void granted() {
            waits = false;
            dispatch(this);
        }

        @Override
        protected void evicted() {
            waits = false;
            refuse(this);
        }

        @Override
        protected Priority priority() {
            return setup.ignorePriorities ? Priority.NORMAL : priority;
        }

        @Override
        protected @Nullable String tenant() {
            return setup.tenants.length == 0 || setup.ignorePriorities ? null : "tenant-" + tenant;
        }
    }

    private final Setup setup;
    private final SplittableRandom random;
    private final SplittableRandom workRandom;
    private final PriorityQueue<Scheduled> schedule = new PriorityQueue<>();
    private final List<Gateway> gateways = new ArrayList<>();
    private final double[] phaseEnds;
    private long scheduled;
    private double now;
    private int phase;

    final List<Result> results;
    final List<List<Result>> byPriority = new ArrayList<>();
    final List<List<Result>> byTenant = new ArrayList<>();

    private int workers;
    private double slowness = 1;
    private boolean hangs;
    private int busy;
    private final ArrayDeque<Call> backendQueue = new ArrayDeque<>();
    private final ArrayDeque<Call> hanging = new ArrayDeque<>();
    private final PriorityQueue<Call> shared =
            new PriorityQueue<>((one, other) -> Double.compare(one.doneAtVirtual, other.doneAtVirtual));
    private double virtual;
    private double virtualAt;
    private int sharedVersion;
    /** Calls in the backend, abandoned ones included. */
    int inBackend;

    private LimitSimulation(Setup setup) {
        this.setup = setup;
        this.random = new SplittableRandom(setup.seed * 7_919);
        this.workRandom = new SplittableRandom(setup.seed * 104_729 + 11);
        this.workers = setup.workers;
        this.phaseEnds = new double[setup.phases.size()];
        double end = 0;
        for (int i = 0; i < phaseEnds.length; i++) {
            end += setup.phases.get(i).seconds;
            phaseEnds[i] = end;
        }
        this.results = newResults(setup);
        for (int i = 0; i < setup.priorities.length; i++) {
            byPriority.add(newResults(setup));
        }
        for (int i = 0; i < setup.tenants.length; i++) {
            byTenant.add(newResults(setup));
        }
        for (int i = 0; i < setup.gateways; i++) {
            gateways.add(new Gateway(i));
        }
    }

    private static List<Result> newResults(Setup setup) {
        List<Result> all = new ArrayList<>();
        setup.phases.forEach(any -> all.add(new Result()));
        return all;
    }

    List<Result> resultsOfGateway(int number) {
        return gateways.get(number).results;
    }

    long seed() {
        return setup.seed;
    }

    Limit limitOfGateway(int number) {
        return gateways.get(number).limit;
    }

    /** Calls that had no result yet at the end. */
    int stillOpen() {
        int open = 0;
        for (Result result : results) {
            open += result.offered - result.answered - result.refused - result.timedOut - result.failed;
        }
        return open;
    }

    /** Calls that the backend can answer in a phase, or that were offered if those are fewer. */
    double possible(int phaseNumber, double capacity) {
        return Math.min(results.get(phaseNumber).offered, capacity * setup.phases.get(phaseNumber).seconds);
    }

    // ---- changes

    static Consumer<LimitSimulation> workers(int number) {
        return simulation -> simulation.workers = number;
    }

    static Consumer<LimitSimulation> slowness(double factor) {
        return simulation -> simulation.slowness = factor;
    }

    static Consumer<LimitSimulation> hangs(boolean hangs) {
        return simulation -> simulation.hangs = hangs;
    }

    // ---- time

    private void at(double time, Step step, @Nullable Call call) {
        schedule.add(new Scheduled(time, scheduled++, step, 0, call));
    }

    private long nanos() {
        return (long) (now * 1e9);
    }

    private void run() {
        for (int i = 0; i < setup.events.size(); i++) {
            schedule.add(new Scheduled(setup.events.get(i).at, scheduled++, Step.CHANGE, i, null));
        }
        scheduleArrival();
        for (int i = 0; i < setup.callers; i++) {
            at(0, Step.CALL_AGAIN, null);
        }
        for (int i = 0; i < setup.streams.size(); i++) {
            schedule.add(new Scheduled(setup.streams.get(i).from, scheduled++, Step.STREAM, i, null));
        }
        double end = phaseEnds[phaseEnds.length - 1];
        while (!schedule.isEmpty()) {
            Scheduled next = schedule.remove();
            if (next.at > end) {
                return;
            }
            now = next.at;
            while (phase < phaseEnds.length - 1 && now > phaseEnds[phase]) {
                phase++;
            }
            take(next);
        }
    }

    private void take(Scheduled next) {
        switch (next.step) {
            case ARRIVAL -> {
                if (next.number == 0) {
                    for (int i = 0; i < setup.burst; i++) {
                        arrive(newCall());
                    }
                }
                scheduleArrival();
            }
            case ANSWER -> end(next.requireCall(), Evidence.ANSWERED);
            case REFUSAL_OF_BACKEND -> {
                inBackend--;
                end(next.requireCall(), Evidence.UNAVAILABLE);
            }
            case DEADLINE -> end(next.requireCall(), Evidence.TIMED_OUT);
            case EXPIRY -> {
                Call call = next.requireCall();
                if (call.waits && call.expire()) {
                    call.waits = false;
                    refuse(call);
                }
            }
            case SERVED -> served(next.requireCall());
            case SHARED_SERVED -> {
                if (next.number == sharedVersion) {
                    sharedServed();
                }
            }
            case CHANGE -> change(setup.events.get(next.number));
            case RETRY -> {
                Call call = next.requireCall();
                Call again = new Call(call.gateway, call.attempt + 1, call.priority, call.tenant, call.phase);
                again.isLooped = call.isLooped;
                arrive(again);
            }
            case CALL_AGAIN -> arrive(newLoopedCall());
            case STREAM -> arriveInStream(next.number);
            case LONG_WAIT -> {
                Call call = next.requireCall();
                if (call.waits) {
                    waited(call);
                }
            }
        }
    }

    private void scheduleArrival() {
        Phase current = setup.phases.get(phase);
        double rate = current.rate;
        if (current.ramp) {
            double before = setup.phases.get(phase - 1).rate;
            rate = before + (rate - before) * (now - phaseEnds[phase] + current.seconds) / current.seconds;
        }
        if (rate <= 0) {
            schedule.add(new Scheduled(phaseEnds[phase] + 1e-6, scheduled++, Step.ARRIVAL, 1, null));
        } else {
            at(now + random.nextExponential() * setup.burst / rate, Step.ARRIVAL, null);
        }
    }

    private void arriveInStream(int number) {
        Stream stream = setup.streams.get(number);
        for (int i = 0; i < stream.atOnce; i++) {
            arrive(new Call(gateways.getFirst(), 0, Priority.NORMAL, 0, phase, stream.service));
        }
        double next = now + (1 + JITTER * (random.nextDouble() - .5)) / stream.rate;
        if (next < stream.until) {
            schedule.add(new Scheduled(next, scheduled++, Step.STREAM, number, null));
        }
    }

    private Call newCall() {
        Gateway gateway = gateways.get(gateways.size() == 1 ? 0 : random.nextInt(gateways.size()));
        Priority priority = setup.priorities.length == 0
                ? Priority.NORMAL
                : List.of(Priority.values()).get(pick(setup.priorities));
        int tenant = setup.tenants.length == 0 ? 0 : pick(setup.tenants);
        return new Call(gateway, 0, priority, tenant, phase);
    }

    private Call newLoopedCall() {
        Call call = newCall();
        call.isLooped = true;
        return call;
    }

    /** A caller in a closed loop calls again. */
    private void callAgain(Call ended, double pause) {
        if (ended.isLooped) {
            at(now + pause, Step.CALL_AGAIN, null);
        }
    }

    private int pick(double[] shares) {
        double left = random.nextDouble();
        int i = 0;
        while (i < shares.length - 1 && left >= shares[i]) {
            left -= shares[i++];
        }
        return i;
    }

    private void record(Call call, Consumer<Result> change) {
        change.accept(results.get(call.phase));
        change.accept(call.gateway.results.get(call.phase));
        if (!byPriority.isEmpty()) {
            change.accept(byPriority
                    .get(List.of(Priority.values()).indexOf(call.priority))
                    .get(call.phase));
        }
        if (!byTenant.isEmpty()) {
            change.accept(byTenant.get(call.tenant).get(call.phase));
        }
    }

    // ---- the gateway

    private void arrive(Call call) {
        if (call.attempt == 0) {
            record(call, result -> result.offered++);
        }
        QueueingBulkhead bulkhead = call.gateway.bulkhead;
        if (bulkhead.tryAcquire()) {
            dispatch(call);
            return;
        }
        call.waits = true;
        Entry entry = bulkhead.enter(call);
        if (entry == Entry.GRANTED) {
            call.granted();
        } else if (entry == Entry.FULL) {
            call.evicted();
        } else if (call.waits) {
            at(now + setup.deadline / 2, Step.EXPIRY, call);
            call.gateway.limit.queued(nanos());
            if (call.gateway.limit.longWaitNanos() < Long.MAX_VALUE) {
                at(now + call.gateway.limit.longWaitNanos() / 1e9, Step.LONG_WAIT, call);
            }
        }
    }

    private void dispatch(Call call) {
        Gateway gateway = call.gateway;
        int inUse = gateway.bulkhead.inUse();
        if (gateway.limit instanceof FixedLimit && inUse > gateway.limit.value()) {
            throw new IllegalStateException("more calls than the limit: " + gateway.bulkhead);
        }
        call.dispatchedAt = now;
        call.mark = gateway.limit.started(nanos(), inUse);
        at(call.arrivedAt + setup.deadline, Step.DEADLINE, call);
        reachBackend(call);
    }

    private void refuse(Call call) {
        call.over = true;
        waited(call);
        if (!retry(call)) {
            record(call, result -> result.refused++);
            callAgain(call, PAUSE);
        }
    }

    private void waited(Call call) {
        call.gateway.limit.waited(nanos(), (long) (call.arrivedAt * 1e9));
    }

    private boolean retry(Call call) {
        if (call.attempt >= setup.retries) {
            return false;
        }
        at(now + ROUND_TRIP, Step.RETRY, call);
        return true;
    }

    private void end(Call call, Evidence evidence) {
        if (call.over) {
            return;
        }
        call.over = true;
        Gateway gateway = call.gateway;
        double latency = now - call.dispatchedAt;
        double total = now - call.arrivedAt;
        if (evidence == Evidence.ANSWERED) {
            setup.statement.said(gateway.limit, gateway.bulkhead.inUse(), inBackend, gateway::resize, nanos());
        }
        gateway.limit.ended(nanos(), call.mark, (long) (latency * 1e9), evidence, gateway.bulkhead.inUse());
        switch (evidence) {
            case ANSWERED -> {
                record(call, result -> result.answer(total, latency));
                results.get(phase).goodput++;
                callAgain(call, 0);
            }
            case TIMED_OUT -> {
                if (!retry(call)) {
                    record(call, result -> result.timedOut++);
                    callAgain(call, PAUSE);
                }
            }
            default -> {
                if (!retry(call)) {
                    record(call, result -> result.failed++);
                    callAgain(call, PAUSE);
                }
            }
        }
        Result inPhase = results.get(phase);
        inPhase.limitSum += gateway.limit.value();
        inPhase.limitCount++;
        gateway.bulkhead.release();
    }

    // ---- the backend

    private boolean isShared() {
        return setup.kind == Kind.SHARING || setup.kind == Kind.COLLAPSE;
    }

    private void reachBackend(Call call) {
        inBackend++;
        if (isShared()) {
            advanceShared();
            call.doneAtVirtual = virtual + call.work * slowness;
            shared.add(call);
            scheduleShared();
        } else if (busy < workers && backendQueue.isEmpty() && !hangs) {
            start(call);
        } else if (setup.kind == Kind.BOUNDED && backendQueue.size() >= (setup.workers + 1) / 2) {
            at(now + ROUND_TRIP + REFUSAL, Step.REFUSAL_OF_BACKEND, call);
        } else {
            backendQueue.add(call);
        }
    }

    private void start(Call call) {
        busy++;
        double late = setup.lateness == 0
                ? 0
                : setup.lateness * Math.exp(-now / COLD_SECONDS) * (.3 + .7 * random.nextDouble());
        at(now + call.work * slowness + late, Step.SERVED, call);
    }

    private void served(Call call) {
        if (hangs) {
            hanging.add(call);
            return;
        }
        busy--;
        answer(call);
        startQueued();
    }

    private void answer(Call call) {
        inBackend--;
        at(now + ROUND_TRIP, Step.ANSWER, call);
    }

    private void startQueued() {
        while (!hangs && busy < workers && !backendQueue.isEmpty()) {
            Call next = backendQueue.remove();
            if (next.over && setup.cancels) {
                inBackend--;
            } else {
                start(next);
            }
        }
    }

    /** Progress of each shared call per second. */
    private double speed() {
        int calls = shared.size();
        if (calls == 0 || hangs) {
            return 0;
        }
        double speed = Math.min(1, (double) workers / calls);
        double limit = Math.max(2, 1.5 * workers);
        return setup.kind == Kind.COLLAPSE && calls > limit ? speed * limit / calls : speed;
    }

    private void advanceShared() {
        virtual += (now - virtualAt) * speed();
        virtualAt = now;
    }

    private void scheduleShared() {
        sharedVersion++;
        Call next = shared.peek();
        double speed = speed();
        if (next != null && speed > 0) {
            double at = now + Math.max(0, (next.doneAtVirtual - virtual) / speed);
            schedule.add(new Scheduled(at, scheduled++, Step.SHARED_SERVED, sharedVersion, null));
        }
    }

    private void sharedServed() {
        advanceShared();
        answer(shared.remove());
        scheduleShared();
    }

    private void change(Event event) {
        advanceShared();
        event.change.accept(this);
        if (isShared()) {
            scheduleShared();
            return;
        }
        while (!hangs && !hanging.isEmpty()) {
            busy--;
            answer(hanging.remove());
        }
        startQueued();
    }
}
