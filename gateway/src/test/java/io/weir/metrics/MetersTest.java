package io.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.accesslog.AccessLog;
import io.weir.accesslog.AccessLogTest;
import io.weir.accesslog.LineSinkTest;
import io.weir.authentication.TestAuthentication;
import io.weir.authorization.AuthorizationResult;
import io.weir.capacity.CapacitySignal;
import io.weir.edge.Handshake;
import io.weir.engine.ExchangeOutcomes;
import io.weir.engine.MoveReason;
import io.weir.engine.Route;
import io.weir.faults.FaultType;
import io.weir.hedge.HedgeResult;
import io.weir.instance.Violations;
import io.weir.lastgood.LastGoodMemoryProperties;
import io.weir.lastgood.LastGoodStore;
import io.weir.limit.Limit;
import io.weir.limit.Priority;
import io.weir.limit.QueueingBulkhead;
import io.weir.outcome.Reason;
import io.weir.overload.OverloadSampler;
import io.weir.overload.ShedCause;
import io.weir.ratelimit.CallsPerKey;
import io.weir.ratelimit.MaxConcurrentPerKeyProperties;
import io.weir.ratelimit.RateLimitProperties;
import io.weir.ratelimit.RateLimiter;
import io.weir.testing.ObservedGateway;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.util.unit.DataSize;

class MetersTest {

    private static final Pattern SAMPLE = Pattern.compile("([a-z_]+)(?:\\{(.*)\\})? \\S+");
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)=\"([^\"]*)\"");
    private static final String HELP = "# HELP ";

    @Test
    void equalTheContentOfAScrape() {
        Map<String, Set<String>> documented = new TreeMap<>();
        for (Meters meter : AllMeters.list()) {
            meter.definition()
                    .prometheusNames()
                    .forEach(name -> documented.put(
                            name, new TreeSet<>(meter.definition().tags())));
        }

        Map<String, Set<String>> shown = new TreeMap<>();
        for (Matcher sample : samples(scrape())) {
            Set<String> labels = shown.computeIfAbsent(sample.group(1), name -> new TreeSet<>());
            if (sample.group(2) != null) {
                LABEL.matcher(sample.group(2)).results().forEach(label -> labels.add(label.group(1)));
            }
            labels.remove("le");
        }

        assertThat(shown).isEqualTo(documented);
    }

    @Test
    void haveTheirDescriptionAsHelpText() {
        String scrape = scrape();

        for (Meters meter : AllMeters.list()) {
            String first = meter.definition().prometheusNames().getFirst().replaceFirst("_bucket$", "");
            assertThat(scrape).contains(HELP + first + " " + meter.definition().description() + "\n");
        }
    }

    @Test
    void haveOnlyConfiguredNamesAndKnownWordsAsTagValues() {
        Set<String> words = new TreeSet<>(ExchangeOutcomes.words());
        words.addAll(BackendMeters.BREAKER_STATES);
        Limit.Change.LEARNT.forEach(reason -> words.add(reason.word()));
        Stream.of(ShedCause.values()).forEach(cause -> words.add(cause.word()));
        Stream.of(Priority.values()).forEach(priority -> words.add(priority.word()));
        words.addAll(Set.of("orders", "orders-route", "compiled", "general", "none"));
        words.addAll(Set.of("allowed", "denied", "acquired", "idle", "direct", "heap"));
        words.addAll(Set.of("first", "repeated"));
        words.addAll(Set.of("applied", "unchanged", "refused"));
        words.addAll(Set.of("edge", "key", "ssl"));
        words.addAll(Set.of("corp", "cached", "verified", "fetched", "partial"));
        words.addAll(Set.of("critical", "normal", "sheddable"));
        words.addAll(Set.of("exported", "dropped", "failed"));
        words.addAll(Set.of("0.1.0", "25.0.1", "jdk"));
        Stream.of(Handshake.values()).forEach(handshake -> words.add(handshake.word()));
        Stream.of(FaultType.values()).forEach(fault -> words.add(fault.word()));
        Stream.of(Violations.Kind.values()).forEach(kind -> words.add(kind.word()));
        Stream.of(MoveReason.values()).forEach(reason -> words.add(reason.word()));
        Stream.of(CapacitySignal.Ignored.values()).forEach(reason -> words.add(reason.word()));
        words.add("disproved");
        Stream.of(HedgeResult.values()).forEach(result -> words.add(result.word()));
        Stream.of(AuthorizationResult.values()).forEach(result -> words.add(result.word()));
        words.addAll(InstanceMeters.STATES);
        words.addAll(Set.of("orders-1:80", "orders-2:80", "answered"));

        for (Matcher sample : samples(scrape())) {
            if (sample.group(2) != null) {
                LABEL.matcher(sample.group(2))
                        .results()
                        .filter(label -> !label.group(1).equals("le"))
                        .forEach(label -> assertThat(words).contains(label.group(2)));
            }
        }
    }

    @Test
    void haveUniqueNamesAndWellFormedTags() {
        assertThat(AllMeters.list().stream().map(meter -> meter.definition().meterName()))
                .doesNotHaveDuplicates();
        assertThat(AllMeters.list().stream()
                        .map(meter -> meter.definition().prometheusNames())
                        .flatMap(Collection::stream))
                .doesNotHaveDuplicates();
        for (Meters meter : AllMeters.list()) {
            assertThat(meter.definition().meterName()).matches("weir(\\.[a-z]+)+");
            assertThat(meter.definition().tags()).allMatch(tag -> tag.matches("[a-z]+"));
            assertThat(meter.definition().description()).endsWith(".");
        }
    }

    @Test
    void haveBucketsFromOneMillisecondToTenSecondsInStepsOfAtMostTwoAndAHalf() {
        assertThat(MeterDefinition.BUCKETS.getFirst()).isEqualTo(Duration.ofMillis(1));
        assertThat(MeterDefinition.BUCKETS.getLast()).isEqualTo(Duration.ofSeconds(10));
        for (int i = 1; i < MeterDefinition.BUCKETS.size(); i++) {
            long before = MeterDefinition.BUCKETS.get(i - 1).toMillis();
            assertThat(MeterDefinition.BUCKETS.get(i).toMillis()).isBetween(before + 1, before * 5 / 2);
        }
    }

    /** As ops/README.md says. */
    @Test
    void aBackendWithoutCallsHasFewSeries() {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        try (ObservedGateway fixture = new ObservedGateway();
                BackendMeters backend = fixture.backendMeters(new MeterBook(registry))) {
            assertThat(samples(registry.scrape())).hasSize(61);

            backend.served(1);

            assertThat(samples(registry.scrape())).hasSize(61 + 17);
        }
    }

    /** A scrape of a gateway in which every event has happened once. */
    private static String scrape() {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        MeterBook book = new MeterBook(registry);
        try (ObservedGateway fixture = new ObservedGateway();
                AccessLog log = new AccessLog(new LineSinkTest.Discarding(), 16, AccessLogTest.PROPERTIES, () -> 0);
                OverloadSampler sampler = new OverloadSampler(List.of(), fixture.guard, fixture.clock::get);
                BackendMeters backend = fixture.backendMeters(book);
                ExchangeMeters route = new ExchangeMeters(
                        book.open(), "orders-route", "orders", "compiled", new QueueingBulkhead(1, 0));
                EdgeMeters edge = new EdgeMeters(
                        book,
                        fixture.engine,
                        fixture.guard,
                        sampler,
                        fixture.drain,
                        new EdgeMetersTest.FixedConnections(3, 100, 7),
                        new EdgeMetersTest.FixedClients(2, 50, 4, 60, 5),
                        log)) {
            new IssuerMeters(book).show(List.of(new TestAuthentication().issuer()));
            route.setCallsPerKey(CallsPerKey.of(new MaxConcurrentPerKeyProperties("route", 1, true), null));
            route.setRateLimiter(RateLimiter.of(
                    "orders",
                    new RateLimitProperties("route", 1, Duration.ofSeconds(1), null, 1_000, true, false),
                    null,
                    null,
                    () -> 0));
            Route observed = fixture.route(fixture.backend(backend), null, route);
            FaultMeters.show(book, () -> 1);
            LastGoodMeters.show(
                    book,
                    new LastGoodStore(
                            new LastGoodMemoryProperties(DataSize.ofMegabytes(1)), () -> 0, () -> 0, Runnable::run));
            route.countLastGood();
            Stream.of(AuthorizationResult.values()).forEach(route::countAuthorization);
            SharedRateLimitMeters.show(book, () -> 1, () -> 1);
            backend.faultInjected(FaultType.HANG);
            fixture.refused(observed, ObservedGateway.caller(), Duration.ZERO);
            for (String outcome : ExchangeOutcomes.words()) {
                route.count(ExchangeOutcomes.words().indexOf(outcome), 1, 1);
            }
            for (Reason reason : Reason.values()) {
                edge.refused(reason);
            }
            ClusterMeters.show(book, () -> 3, () -> 1);
            TracingMeters.show(book, () -> 3, () -> 2, () -> 1);
            BuildMeters.show(book, "0.1.0", "25.0.1", "jdk");
            LogMeters.show(book, () -> 1);
            ReloadMeters reloads = new ReloadMeters(book, Instant.EPOCH);
            reloads.applied(Instant.EPOCH);
            CertificateMeters certificates = new CertificateMeters(book);
            certificates.watched("edge");
            certificates.show("edge", List.of(new CertificateMeters.Expiry("key", "ssl", Instant.EPOCH)));
            edge.answered("orders-route", "general", 302, 1);
            new InstanceMeters(book.open(), "orders").show(fixture.instances(List.of("orders-1:80", "orders-2:80")));
            backend.wouldRefuse(Reason.BULKHEAD_FULL);
            backend.retried(true);
            backend.attempted(true);
            backend.hedged(HedgeResult.WON);
            backend.dispatched(Priority.NORMAL, 1, 1);
            backend.served(1);
            return registry.scrape();
        }
    }

    private static List<Matcher> samples(String scrape) {
        List<Matcher> samples = scrape.lines()
                .filter(line -> !line.startsWith("#"))
                .map(SAMPLE::matcher)
                .toList();
        assertThat(samples).isNotEmpty().allMatch(Matcher::matches);
        return samples;
    }
}
