package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.engine.StormPlan.Event;
import io.weir.engine.StormPlan.Phase;
import io.weir.engine.StormPlan.Seen;
import io.weir.engine.StormPlan.Span;
import io.weir.limit.QueueingBulkhead;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.IntStream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Waves of exchanges. Each exchange is brought to a phase; then two events hit it at one moment, plus or
 * minus a random offset.
 *
 * <p>All random choices come from one seed. The outcome of a race depends on the machine: a seed repeats the
 * plan and not the outcome.
 */
final class Storm implements AutoCloseable {

    static final String PLAIN = "plain";
    static final String SECURE = "secure";
    static final String RETRIED = "retried";
    static final String HEDGED = "hedged";

    private static final int WAVE = 200;
    /**
     * Time from a wave's start to its events, in which all exchanges reach their phases. It grows if it was
     * too short.
     */
    private static final long LEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(180);

    private static final long LONGEST_LEAD_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** A retry follows 25 to 75 ms after the first attempt's failure. */
    private static final long RETRY_LEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(15);

    private static final byte[] BODY = "0123456789".repeat(2_000).getBytes(StandardCharsets.US_ASCII);
    /** Larger than the initial window of an HTTP/2 caller, and smaller than the gateway's own buffers. */
    static final byte[] LARGE = "0123456789".repeat(9_000).getBytes(StandardCharsets.US_ASCII);

    private static final List<Phase> PHASES = List.of(Phase.values());

    private final RandomGenerator random;
    private final TestBackend plain;
    private final List<TestBackend> hedged;
    private final ServerSocket secure;
    private final SSLContext tls;
    private final MisbehavingBackends misbehaving;
    private final TestGateway gateway;
    private final Map<Integer, StormPlan> plans = new ConcurrentHashMap<>();
    private final Set<Socket> handshakes = ConcurrentHashMap.newKeySet();
    private final List<String> unexpected = Collections.synchronizedList(new ArrayList<>());
    /** By phase and pair: how often both events hit an exchange of that phase at about the same moment. */
    private final Map<Phase, Map<Set<Event>, Integer>> met = new EnumMap<>(Phase.class);

    private final List<StormPlan> ended = new ArrayList<>();
    /**
     * The kinds of waves in random order: the events that hit all exchanges, and those that hit connections.
     */
    private final List<Integer> kinds = new ArrayList<>();

    private int started;
    private long lead = LEAD_NANOS;
    private volatile Set<Event> connectionEvents = Set.of();
    /** The exchange of the next connection. */
    private volatile @Nullable StormPlan connecting;

    private volatile long moment;

    /**
     * A storm without waves.
     *
     * @param weir further lines of the gateway's configuration, below {@code weir}
     */
    Storm(long seed, String... weir) throws Exception {
        this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
        X509Bundle certificate = new CertificateBuilder()
                .subject("CN=127.0.0.1")
                .addSanIpAddress("127.0.0.1")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        this.tls = context(certificate);
        this.plain = TestBackend.start(this::serve);
        this.hedged = List.of(TestBackend.start(this::serve), TestBackend.start(this::serve));
        this.secure = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::acceptSecure);
        this.misbehaving = new MisbehavingBackends(random, tls);
        TestGateway.Setup setup = TestGateway.setup();
        misbehaving.addTo(setup, "storm");
        for (String line : weir) {
            setup.weir(line);
        }
        this.gateway = setup.backend(
                        PLAIN,
                        plain.uri(),
                        "deadline: 20s",
                        "bulkhead: { max-concurrent-calls: " + WAVE + ", queue-capacity: " + WAVE
                                + ", max-wait-duration: 10s }",
                        "connection: { connect-timeout: 10s }",
                        "retry-budget: { share: 100, floor: 1000 }")
                .backend(
                        SECURE,
                        "https://127.0.0.1:" + secure.getLocalPort(),
                        "deadline: 20s",
                        "bulkhead: { max-concurrent-calls: " + WAVE + " }",
                        "connection: { connect-timeout: 10s, ssl-bundle: storm }")
                .instances(
                        HEDGED,
                        hedged.stream().map(TestBackend::uri).toList(),
                        "deadline: 20s",
                        "bulkhead: { max-concurrent-calls: " + 2 * WAVE + " }",
                        "connection: { connect-timeout: 10s }",
                        "retry-budget: { share: 100, floor: 1000 }")
                .route(PLAIN, PLAIN)
                .route(HEDGED, HEDGED, "hedge: { after: 20ms }")
                .route(SECURE, SECURE)
                .route(RETRIED, PLAIN, "retry: { statuses: [503], backoff: 50ms }")
                .line("spring.ssl.bundle.pem.storm.truststore.certificate: |\n"
                        + certificate.getCertificatePEM().strip().indent(2))
                .start();
        // Callers who leave a silent backend at one moment would open the breaker, and so would handshakes
        // that the storm holds.
        gateway.backend(PLAIN).health().operator().forceClosed();
        gateway.backend(SECURE).health().operator().forceClosed();
        gateway.backend(HEDGED).health().operator().forceClosed();
        misbehaving.forceClosed(gateway);
        for (Phase phase : Phase.values()) {
            met.put(phase, new TreeMap<>((one, other) -> one.toString().compareTo(other.toString())));
        }
    }

    private static SSLContext context(X509Bundle certificate) throws Exception {
        KeyStore keys = certificate.toKeyStore(new char[0]);
        KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        managers.init(keys, new char[0]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(managers.getKeyManagers(), null, null);
        return context;
    }

    TestGateway gateway() {
        return gateway;
    }

    /** The exchanges started so far. */
    int started() {
        return started;
    }

    // ---------------------------------------------------------------- a wave

    /** Two events that meet in a phase. */
    private record Meeting(Phase phase, Set<Event> pair) {

        /**
         * Whether one exchange can be planned for it. Not while it connects: connections are opened one after
         * the other, and many would not be in time.
         */
        boolean isOfOneExchange() {
            return phase != Phase.CONNECTING && phase.own().containsAll(pair);
        }
    }

    /**
     * Runs waves until so many exchanges have started and, up to a bound, until nothing is missing.
     *
     * @param missing {@link #missingPairs} or {@link #missingEvents}
     */
    void run(int exchanges, Supplier<List<String>> missing) throws Exception {
        while (started < exchanges
                || (started < 10 * exchanges && !missing.get().isEmpty())) {
            wave(WAVE);
        }
    }

    private void wave(int size) throws Exception {
        if (kinds.isEmpty()) {
            kinds.addAll(IntStream.range(0, 1 << 4).boxed().toList());
            Collections.shuffle(kinds, Random.from(random));
        }
        int kind = kinds.removeLast();
        List<Meeting> missing = missingMeetings();
        boolean isOwnMissing = !missing.isEmpty() && missing.stream().allMatch(Meeting::isOfOneExchange);
        Set<Event> eventsOfAll = EnumSet.noneOf(Event.class);
        if ((kind & 1) != 0 && !isOwnMissing) {
            eventsOfAll.add(Event.RESIZE);
        }
        if ((kind & 2) != 0 && !isOwnMissing) {
            eventsOfAll.add(Event.SHUTDOWN);
        }
        Set<Event> handshakeEvents = EnumSet.noneOf(Event.class);
        if ((kind & 4) != 0) {
            handshakeEvents.add(Event.ERROR);
        }
        if ((kind & 8) != 0) {
            handshakeEvents.add(Event.COMPLETE);
        }
        connectionEvents = handshakeEvents;
        moment = System.nanoTime() + lead;
        List<Meeting> sought = eventsOfAll.isEmpty()
                ? missing.stream().filter(Meeting::isOfOneExchange).toList()
                : List.of();
        List<StormPlan> wave = new ArrayList<>();
        for (int i = 0; i < size - MisbehavingBackends.WAVE; i++) {
            StormPlan plan = draw(started++, eventsOfAll, sought);
            plans.put(plan.id, plan);
            wave.add(plan);
        }
        List<StormPlan> queued =
                wave.stream().filter(plan -> plan.phase == Phase.QUEUED).toList();
        List<StormPlan> holders = wave.stream()
                .filter(plan -> plan.phase != Phase.QUEUED && plan.phase != Phase.FLUSHING)
                .filter(plan -> plan.backend().equals(PLAIN))
                .toList();
        // The permits of callers that hold up their uploads move to the compartment of streams.
        long moving =
                holders.stream().filter(plan -> plan.phase == Phase.SENDING).count();
        QueueingBulkhead bulkhead = gateway.backend(PLAIN).bulkhead();
        bulkhead.resize(WAVE, WAVE);
        gateway.backend(SECURE).bulkhead().resize(WAVE, WAVE);
        gateway.backend(HEDGED).bulkhead().resize(2 * WAVE, WAVE);

        CountDownLatch over = new CountDownLatch(size);
        misbehaving.start(gateway, started, moment, eventsOfAll.contains(Event.SHUTDOWN), over);
        started += MisbehavingBackends.WAVE;
        wave.stream()
                .filter(plan -> plan.phase != Phase.QUEUED && plan.phase != Phase.CONNECTING)
                .forEach(plan -> call(plan, over));
        connect(wave.stream().filter(plan -> plan.phase == Phase.CONNECTING).toList(), over);
        awaitUntilMoment(() -> holders.stream().allMatch(plan -> plan.reached)
                && allReached(wave, Phase.FLUSHING)
                && allReached(wave, Phase.HEDGED)
                && bulkhead.inUse() == holders.size() - moving);
        // All permits are in use: further calls wait. A call that waits for its retry gives its permit back
        // before the moment, which must not let them go.
        long retrying =
                holders.stream().filter(plan -> plan.phase == Phase.RETRYING).count();
        bulkhead.resize(Math.max(1, bulkhead.inUse() - (int) retrying), WAVE);
        queued.forEach(plan -> call(plan, over));
        awaitUntilMoment(() -> bulkhead.queued() >= queued.size());
        boolean areQueued = bulkhead.queued() >= queued.size();
        queued.forEach(plan -> plan.reached = areQueued);

        List<StormPlan> reached = wave.stream().filter(plan -> plan.reached).toList();
        boolean inTime = System.nanoTime() < moment - TimeUnit.MILLISECONDS.toNanos(2);
        // A platform thread is on time; a virtual thread is not while hundreds of others wake up.
        Thread resizes = Thread.ofPlatform().start(() -> {
            if (eventsOfAll.contains(Event.RESIZE)) {
                resize(reached);
            }
        });
        if (eventsOfAll.contains(Event.SHUTDOWN)) {
            waitUntil(moment);
            long from = System.nanoTime();
            gateway.bean(Engine.class).endAll();
            reached.forEach(plan -> plan.happened(Event.SHUTDOWN, from));
        }
        assertThat(over.await(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS))
                .as(
                        "exchanges of the wave without an end: %s; %s",
                        wave.stream().filter(plan -> plan.seen == null).toList(), misbehaving.problems())
                .isTrue();
        resizes.join();
        await().until(() -> gateway.bean(Engine.class).inFlight() == 0);
        closeHandshakes();
        gateway.assertNothingHeld();
        misbehaving.forgeOnIdleConnections();
        if (inTime) {
            reached.forEach(plan -> count(plan, wave));
        }
        lead = inTime ? Math.max(LEAD_NANOS, lead * 9 / 10) : Math.min(LONGEST_LEAD_NANOS, lead * 3 / 2);
        wave.forEach(plan -> plans.remove(plan.id));
        ended.addAll(wave);
    }

    private static boolean allReached(List<StormPlan> wave, Phase phase) {
        return wave.stream().filter(plan -> plan.phase == phase).allMatch(plan -> plan.reached);
    }

    private StormPlan draw(int id, Set<Event> eventsOfAll, List<Meeting> sought) {
        Door door = random.nextBoolean() ? Door.COMPILED : Door.GENERAL;
        if (!sought.isEmpty() && random.nextBoolean()) {
            Meeting meeting = sought.get(random.nextInt(sought.size()));
            return new StormPlan(id, door, meeting.phase, meeting.pair, moment, random);
        }
        Phase phase = PHASES.get(random.nextInt(PHASES.size()));
        Set<Event> events = EnumSet.copyOf(phase.own());
        events = drawn(events, Math.max(0, 2 - eventsOfAll.size()));
        if (phase == Phase.CONNECTING && connectionEvents.size() + eventsOfAll.size() >= 2 && random.nextBoolean()) {
            // Some exchanges are hit only by the events of all.
            events = EnumSet.noneOf(Event.class);
        }
        events.addAll(eventsOfAll);
        return new StormPlan(id, door, phase, events, moment, random);
    }

    private Set<Event> drawn(Set<Event> from, int size) {
        List<Event> events = new ArrayList<>(from);
        Collections.shuffle(events, Random.from(random));
        Set<Event> drawn = EnumSet.noneOf(Event.class);
        drawn.addAll(events.subList(0, Math.min(size, events.size())));
        return drawn;
    }

    /** Starts the exchanges one after the other, so that each connection belongs to a known exchange. */
    private void connect(List<StormPlan> plans, CountDownLatch over) {
        for (StormPlan plan : plans) {
            connecting = plan;
            call(plan, over);
            awaitUntilMoment(() -> plan.reached);
        }
        connecting = null;
    }

    private void resize(List<StormPlan> reached) {
        waitUntil(moment);
        for (String backend : List.of(PLAIN, SECURE, HEDGED)) {
            long from = System.nanoTime();
            QueueingBulkhead bulkhead = gateway.backend(backend).bulkhead();
            int before = bulkhead.maxConcurrentCalls();
            bulkhead.resize(1, WAVE);
            bulkhead.resize(before + 5, WAVE);
            bulkhead.resize(Math.max(1, before / 2), WAVE);
            reached.stream()
                    .filter(plan -> plan.backend().equals(backend))
                    .forEach(plan -> plan.happened(Event.RESIZE, from));
        }
    }

    private void count(StormPlan plan, List<StormPlan> wave) {
        for (Set<Event> pair : pairs()) {
            List<List<Span>> both =
                    pair.stream().map(event -> spans(plan, event, wave)).toList();
            if (both.getFirst().stream().anyMatch(one -> both.getLast().stream().anyMatch(one::meets))) {
                ofPhase(plan.phase).merge(pair, 1, Integer::sum);
            }
        }
    }

    /** The times of an event that hit the exchange, or the calls ahead of it in the queue. */
    private static List<Span> spans(StormPlan plan, Event event, List<StormPlan> wave) {
        if (plan.phase != Phase.QUEUED || (event != Event.ERROR && event != Event.COMPLETE)) {
            Span span = plan.when(event);
            return span == null ? List.of() : List.of(span);
        }
        return wave.stream()
                .filter(other -> other.phase == Phase.AWAITING && other.reached)
                .map(other -> other.when(event))
                .filter(Objects::nonNull)
                .filter(span -> !plan.isOverBefore(span))
                .toList();
    }

    private Map<Set<Event>, Integer> ofPhase(Phase phase) {
        return met.getOrDefault(phase, Map.of());
    }

    // ---------------------------------------------------------------- the callers

    private void call(StormPlan plan, CountDownLatch over) {
        Thread.ofVirtual().start(() -> {
            try {
                plan.seen = plan.phase == Phase.FLUSHING
                        ? HalfReadingCaller.call(plan, gateway.port(), timeout(plan))
                        : callByHttp1(plan);
            } catch (IOException e) {
                plan.seen = Seen.BROKEN_OFF;
            } catch (RuntimeException e) {
                unexpected.add(plan + ": " + e);
            } finally {
                plan.ended();
                over.countDown();
            }
        });
    }

    private Seen callByHttp1(StormPlan plan) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            if (plan.phase == Phase.SENDING) {
                caller.send(TestCaller.head(
                        "POST", plan.path(), "X-Request-Timeout: " + timeout(plan), "Content-Length: 200000"));
                // More than is read ahead of the permit.
                caller.send(new byte[100_000]);
            } else {
                caller.send(TestCaller.head("GET", plan.path(), "X-Request-Timeout: " + timeout(plan)));
            }
            if (plan.has(Event.CANCEL) || !plan.hasOwn()) {
                Thread.ofVirtual().start(() -> leave(plan, caller));
            }
            TestCaller.Answer answer = caller.answer();
            plan.status = answer.status();
            if (answer.status() == 200
                    && plan.phase == Phase.ANSWERING
                    && !new String(BODY, StandardCharsets.US_ASCII).equals(answer.text())) {
                unexpected.add(plan + ": a body that the backend did not send");
            }
            return Seen.COMPLETE_ANSWER;
        }
    }

    private static void leave(StormPlan plan, TestCaller caller) {
        waitUntil(plan.hasOwn() ? plan.at(Event.CANCEL) : plan.latest());
        long from = System.nanoTime();
        try {
            caller.reset();
            if (plan.has(Event.CANCEL)) {
                plan.happened(Event.CANCEL, from);
            }
        } catch (IOException e) {
            // The connection is closed already.
        }
    }

    private String timeout(StormPlan plan) {
        if (!plan.has(Event.TIMEOUT)) {
            return "20s";
        }
        long now = System.nanoTime();
        // A waiter times out as soon as the remaining time is less than its route's calls usually need.
        Route route = gateway.route(plan.door.id(PLAIN));
        long needed =
                plan.phase == Phase.QUEUED ? Math.min(route.usualTime().nanos(now), route.deadlineNanos() / 2) : 0;
        long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(plan.at(Event.TIMEOUT) + needed - now));
        plan.timesOutAt(now + TimeUnit.MILLISECONDS.toNanos(millis) - needed);
        return millis + "ms";
    }

    // ---------------------------------------------------------------- the backends

    private void serve(TestBackend.Request request, TestBackend.Conversation conversation) throws IOException {
        String target = request.target();
        StormPlan plan = plans.get(Integer.parseInt(target.substring(target.lastIndexOf('/') + 1)));
        if (plan == null) {
            // A request of a wave that has ended.
            conversation.close();
            return;
        }
        // A reset after an answer must not hit another exchange on the same connection.
        String head =
                "HTTP/1.1 200 OK\r\n" + (plan.has(Event.ERROR) ? "Connection: close\r\n" : "") + "Content-Length: ";
        switch (plan.phase) {
            case QUEUED, CONNECTING -> conversation.answer(200, "late");
            case AWAITING -> {
                plan.reached = true;
                happen(plan, conversation, (head + "2\r\n\r\nok").getBytes(StandardCharsets.US_ASCII));
            }
            case HEDGED -> {
                plan.reached = plan.attempts.incrementAndGet() == 2;
                happen(plan, conversation, (head + "2\r\n\r\nok").getBytes(StandardCharsets.US_ASCII));
            }
            case SENDING -> {
                conversation.in().skipNBytes(5_000);
                plan.reached = true;
                happen(
                        plan,
                        conversation,
                        (head + "2\r\nConnection: close\r\n\r\nok").getBytes(StandardCharsets.US_ASCII));
                // Reads the rest of the body until the gateway closes the connection.
                conversation.in().transferTo(OutputStream.nullOutputStream());
            }
            case RETRYING -> {
                if (plan.attempts.incrementAndGet() == 1) {
                    plan.reached = true;
                    waitUntil(moment - RETRY_LEAD_NANOS);
                    conversation.answer(503, "");
                } else {
                    conversation.answer(200, "second");
                }
            }
            case ANSWERING -> {
                conversation.write((head + BODY.length + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
                conversation.write(Arrays.copyOf(BODY, BODY.length / 2));
                plan.reached = true;
                happen(plan, conversation, Arrays.copyOfRange(BODY, BODY.length / 2, BODY.length));
            }
            case FLUSHING -> {
                conversation.write((head + LARGE.length + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
                conversation.write(LARGE);
            }
        }
    }

    /** Performs the events of the backend. */
    private static void happen(StormPlan plan, TestBackend.Conversation conversation, byte[] rest) throws IOException {
        boolean errs = plan.has(Event.ERROR);
        boolean completes = plan.has(Event.COMPLETE);
        if (completes && !(errs && plan.at(Event.ERROR) < plan.at(Event.COMPLETE))) {
            waitUntil(plan.at(Event.COMPLETE));
            long from = System.nanoTime();
            conversation.write(rest);
            plan.happened(Event.COMPLETE, from);
        }
        if (errs) {
            waitUntil(plan.at(Event.ERROR));
            long from = System.nanoTime();
            conversation.reset();
            plan.happened(Event.ERROR, from);
        } else if (!completes) {
            // Keeps the connection until the gateway closes it.
            conversation.in().transferTo(OutputStream.nullOutputStream());
        }
    }

    private void acceptSecure() {
        try {
            while (true) {
                Socket socket = secure.accept();
                handshakes.add(socket);
                StormPlan plan = System.nanoTime() < moment ? connecting : null;
                if (plan != null) {
                    plan.reached = true;
                }
                Thread.ofVirtual().start(() -> shakeHands(socket, plan));
            }
        } catch (IOException e) {
            // The server socket is closed at the end of the storm.
        }
    }

    /**
     * Serves the backend's end of a connection.
     *
     * @param plan the exchange of the connection; null if the exchange was too late to be counted
     */
    private void shakeHands(Socket socket, @Nullable StormPlan plan) {
        try (socket) {
            socket.setSoTimeout((int) TestGateway.PATIENCE.toMillis());
            Set<Event> events = connectionEvents;
            if (events.isEmpty()) {
                InputStream in = socket.getInputStream();
                in.transferTo(OutputStream.nullOutputStream());
                return;
            }
            boolean completes = events.contains(Event.COMPLETE);
            waitUntil(plan == null ? moment : plan.at(completes ? Event.COMPLETE : Event.ERROR));
            if (completes) {
                try (SSLSocket secured =
                        (SSLSocket) tls.getSocketFactory().createSocket(socket, "127.0.0.1", 0, false)) {
                    secured.setUseClientMode(false);
                    shakeHands(secured, plan);
                    if (!events.contains(Event.ERROR)) {
                        answerSecured(secured);
                        return;
                    }
                }
            }
            long from = System.nanoTime();
            socket.setSoLinger(true, 0);
            socket.close();
            if (plan != null) {
                plan.happened(Event.ERROR, from);
            }
        } catch (IOException e) {
            // The gateway may close the connection at any time.
        } finally {
            handshakes.remove(socket);
        }
    }

    /** The gateway may close the connection during the handshake: then both events have met. */
    private static void shakeHands(SSLSocket secured, @Nullable StormPlan plan) throws IOException {
        long from = System.nanoTime();
        try {
            secured.startHandshake();
        } finally {
            if (plan != null) {
                plan.happened(Event.COMPLETE, from);
            }
        }
    }

    private static void answerSecured(Socket secured) throws IOException {
        InputStream in = secured.getInputStream();
        int ends = 0;
        for (int b = in.read(); ends < 4 && b >= 0; b = ends < 4 ? in.read() : b) {
            ends = b == '\r' || b == '\n' ? ends + 1 : 0;
        }
        secured.getOutputStream()
                .write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
                        .getBytes(StandardCharsets.US_ASCII));
        secured.getOutputStream().flush();
    }

    private void closeHandshakes() throws IOException {
        for (Socket socket : handshakes) {
            socket.close();
        }
    }

    // ---------------------------------------------------------------- results

    /** Every exchange that reached the gateway is logged once, and one of its events explains its outcome. */
    void assertExplained() {
        assertThat(unexpected).isEmpty();
        Map<String, List<JsonNode>> lines = new TreeMap<>();
        await().untilAsserted(() -> {
            lines.clear();
            gateway.log()
                    .forEach(line -> lines.computeIfAbsent(line.path("path").asString(""), path -> new ArrayList<>())
                            .add(line));
            assertThat(ended.stream().filter(plan -> plan.reached).filter(plan -> !lines.containsKey(plan.path())))
                    .as("exchanges without a line in the access log")
                    .isEmpty();
        });
        misbehaving.assertExplained(lines);
        for (StormPlan plan : ended) {
            List<JsonNode> logged = lines.getOrDefault(plan.path(), List.of());
            assertThat(logged).as("%s", plan).hasSizeLessThan(2);
            if (!logged.isEmpty()) {
                String outcome = logged.getFirst().path("outcome").asString();
                assertThat(explained(plan)).as("%s: %s", plan, logged).contains(outcome);
            }
        }
    }

    private static Set<String> explained(StormPlan plan) {
        Set<String> outcomes = new TreeSet<>();
        // A caller that has read all declared bytes may leave before the gateway learns that the answer is
        // complete.
        boolean readAll = plan.seen == Seen.COMPLETE_ANSWER && plan.has(Event.COMPLETE);
        if (plan.has(Event.CANCEL) || !plan.hasOwn() || readAll) {
            outcomes.add("client-closed");
        }
        if (plan.has(Event.TIMEOUT)) {
            outcomes.addAll(List.of("deadline-exceeded", "client-too-slow"));
        }
        if (plan.has(Event.SHUTDOWN)) {
            outcomes.add("shutting-down");
        }
        switch (plan.phase) {
            // The end of another call grants the permit; the reused connection may be reset after the other
            // answer.
            case QUEUED -> outcomes.addAll(List.of("2xx", "connection-lost"));
            // Without time for another attempt, the caller gets the answer of the first.
            case RETRYING -> outcomes.addAll(List.of("2xx", "5xx"));
            // A reset during or after the handshake, an answer, or the end of the wave.
            case CONNECTING -> outcomes.addAll(List.of("2xx", "connect-failed", "connection-lost"));
            default -> {
                if (plan.has(Event.COMPLETE)) {
                    outcomes.add("2xx");
                }
                if (plan.has(Event.ERROR)) {
                    outcomes.add("connection-lost");
                }
            }
        }
        return outcomes;
    }

    /** How often both events of a pair hit an exchange at about the same moment; a dash where they cannot. */
    String table() {
        StringBuilder table = new StringBuilder("%-20s".formatted("both at once"));
        for (Phase phase : Phase.values()) {
            table.append("%11s".formatted(phase));
        }
        for (Set<Event> pair : pairs()) {
            table.append("\n%-20s"
                    .formatted(String.join(
                            " ",
                            pair.stream()
                                    .map(Event::name)
                                    .map(name -> name.toLowerCase(Locale.ROOT))
                                    .toList())));
            for (Phase phase : Phase.values()) {
                boolean can = pair.stream().allMatch(phase::meets);
                table.append("%11s".formatted(can ? ofPhase(phase).getOrDefault(pair, 0) : "-"));
            }
        }
        return table.toString();
    }

    /** The possible pairs of events that have not met, by phase. */
    List<String> missingPairs() {
        List<String> missing = new ArrayList<>(misbehaving.missing());
        missingMeetings().forEach(meeting -> missing.add(meeting.pair + " in " + meeting.phase));
        return missing;
    }

    private List<Meeting> missingMeetings() {
        List<Meeting> missing = new ArrayList<>();
        for (Phase phase : Phase.values()) {
            for (Set<Event> pair : pairs()) {
                if (pair.stream().allMatch(phase::meets) && ofPhase(phase).getOrDefault(pair, 0) == 0) {
                    missing.add(new Meeting(phase, pair));
                }
            }
        }
        return missing;
    }

    /** The possible events that have not occurred, by phase. */
    List<String> missingEvents() {
        List<String> missing = new ArrayList<>(misbehaving.missing());
        for (Phase phase : Phase.values()) {
            for (Event event : Event.values()) {
                boolean happened = ended.stream()
                        .anyMatch(plan -> plan.phase == phase
                                && plan.reached
                                && !spans(plan, event, ended).isEmpty());
                if (phase.meets(event) && !happened) {
                    missing.add(event + " in " + phase);
                }
            }
        }
        return missing;
    }

    private static List<Set<Event>> pairs() {
        List<Set<Event>> pairs = new ArrayList<>();
        for (Event one : Event.values()) {
            for (Event other : Event.values()) {
                if (one.compareTo(other) < 0) {
                    pairs.add(EnumSet.of(one, other));
                }
            }
        }
        return pairs;
    }

    // ---------------------------------------------------------------- time

    private void awaitUntilMoment(BooleanSupplier condition) {
        while (!condition.getAsBoolean() && System.nanoTime() < moment) {
            LockSupport.parkNanos(500_000);
        }
    }

    static void waitUntil(long nanoTime) {
        for (long left = nanoTime - System.nanoTime(); left > 0; left = nanoTime - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    @Override
    public void close() throws IOException {
        gateway.close();
        plain.close();
        hedged.forEach(TestBackend::close);
        secure.close();
        misbehaving.close();
        closeHandshakes();
    }
}
