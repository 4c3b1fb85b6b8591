package io.weir.lastgood;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.util.unit.DataSize;

class LastGoodTest {

    private static final String INSTANCE = "orders:8080";

    private final AtomicLong nanos = new AtomicLong();
    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private boolean isDelayed;

    private final LastGoodStore store = new LastGoodStore(
            new LastGoodMemoryProperties(DataSize.ofMegabytes(1)),
            nanos::get,
            () -> Instant.parse("2026-08-01T10:00:00Z").toEpochMilli() + nanos.get() / 1_000_000,
            this::execute);

    private final AnswerSpace space = new AnswerSpace("orders");
    private LastGood lastGood = lastGood(Duration.ofMinutes(10));

    // ---------------------------------------------------------------- credentials

    /** Whether the answer to a request with credentials is kept, and which requests get it. */
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                // request; key-headers; answer; whether it is kept; whether these requests get it:
                // the same one; one without the field; one with another value
                "authorization: a; ; X: y; false; false; false; false",
                "authorization: a; ; Cache-Control: max-age=60; false; false; false; false",
                "authorization: a; ; Cache-Control: s-maxage=60; false; false; false; false",
                "authorization: a; ; Cache-Control: public; true; true; true; true",
                "authorization: a; authorization; X: y; true; true; false; false",
                "authorization: a; authorization; Cache-Control: public; true; true; false; false",
                "authorization: a; authorization; Cache-Control: private; false; false; false; false",
                "authorization: a; ; Cache-Control: public, private; false; false; false; false",
                "cookie: a; ; X: y; false; false; false; false",
                "cookie: a; ; Cache-Control: public; true; true; true; true",
                "cookie: a; ; Cache-Control: public|Vary: Cookie; true; true; false; false",
                "cookie: a; cookie; X: y; true; true; false; false",
                "cookie: a; authorization; X: y; false; false; false; false",
                "x-api-key: a; ; X: y; true; true; false; false",
                "accept-language: de; ; X: y; true; true; true; true",
                "accept-language: de; accept-language; X: y; true; true; false; false",
                "accept-language: de; ; Vary: Accept-Language; true; true; false; false",
            })
    void keepsAnswersToRequestsWithCredentialsOnlyWhereThatIsAllowed(
            String field,
            @Nullable String keyHeader,
            String answer,
            boolean isKept,
            boolean isForTheSame,
            boolean isForOneWithout,
            boolean isForAnother) {
        lastGood = new LastGood(
                new LastGoodProperties(
                        Duration.ofMinutes(10),
                        DataSize.ofKilobytes(64),
                        keyHeader == null ? List.of() : List.of(keyHeader)),
                space,
                store,
                "");
        String name = field.substring(0, field.indexOf(':'));

        assertThat(keeps(request(field), answer, "body")).isEqualTo(isKept);
        assertThat(find(request(field)) != null).isEqualTo(isForTheSame);
        assertThat(find(request("x-request-id: 1")) != null).isEqualTo(isForOneWithout);
        assertThat(find(request(name + ": another")) != null).isEqualTo(isForAnother);
    }

    /** The backend may have another answer for a caller that it knows. */
    @Test
    void aRequestWithCredentialsGetsNoAnswerOfOneWithout() {
        keep(request("x-request-id: 1"), "X: y", "anonymous");
        assertThat(find(request("authorization: a"))).isNull();
        assertThat(find(request("cookie: a"))).isNull();
        assertThat(find(request("x-request-id: 2"))).isNotNull();
    }

    @Test
    void obeysNoStoreOfARequestAndIgnoresItsOtherDirectives() {
        assertThat(keeps(request("cache-control: no-store"), "X: y", "body")).isFalse();
        keep(request("cache-control: no-cache"), "X: y", "body");
        for (String directive : List.of("no-cache", "max-age=0", "min-fresh=60", "only-if-cached")) {
            assertThat(find(request("cache-control: " + directive))).isNotNull();
        }
    }

    // ---------------------------------------------------------------- the key

    /** Each pair differs in what a backend may react to. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "x-forwarded-host: evil.example",
                "x-forwarded-proto: http",
                "x-forwarded-port: 99",
                "x-forwarded-prefix: /evil",
                "forwarded: for=1.2.3.4;host=evil.example",
                "x-original-url: /admin",
                "x-rewrite-url: /admin",
                "x-http-method-override: DELETE",
                "x-http-method: PUT",
                "x-method-override: POST",
                "x-host: evil.example",
                "host: evil.example",
                "origin: https://evil.example",
                "accept: text/evil",
                "x-anything: 1",
                "x-anything:",
            })
    void everyUnusualFieldForTheBackendIsPartOfTheKey(String field) {
        keep(request(field), "X: y", "placed");
        assertThat(find(request("x-request-id: 1"))).isNull();
        keep(request("x-request-id: 1"), "X: y", "usual");
        assertThat(text(find(request("x-request-id: 2")))).isEqualTo("usual");
        assertThat(text(find(request(field)))).isEqualTo("placed");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "traceparent: 00-1",
                "x-request-timeout: 5",
                "if-none-match: \"other\"",
                "range: bytes=0-1",
                "user-agent: curl",
                "referer: https://elsewhere.example",
                "sec-fetch-mode: cors",
                "x-forwarded-for: 192.0.2.7",
                "forwarded: for=192.0.2.7",
                "via: 1.1 balancer",
            })
    void fieldsThatSelectNoAnswerAreNoPartOfTheKey(String field) {
        keep(request("forwarded: for=192.0.2.8;by=203.0.113.43"), "X: y", "known");
        if (field.startsWith("forwarded")) {
            assertThat(text(find(request(field)))).isEqualTo("known");
            return;
        }
        keep(request("x-request-id: 1"), "X: y", "known");
        assertThat(text(find(request(field)))).isEqualTo("known");
    }

    @Test
    void theOrderAndCaseOfFieldNamesDoNotMatter() {
        LastGoodRequest one = request("X-A: 1");
        one.toBackend().add("X-B", "2").add("x-b", "3");
        LastGoodRequest other = request("x-b: 2");
        other.toBackend().add("X-b", "3").add("x-a", "1");
        keep(one, "X: y", "known");
        assertThat(text(find(other))).isEqualTo("known");
    }

    @Test
    void theHostOfTheInstanceIsNoPartOfTheKey() {
        HttpHeaders toBackend = new DefaultHttpHeaders().set("host", "orders-2:8080");
        LastGoodRequest other =
                new LastGoodRequest(HttpMethod.GET, "/1", new DefaultHttpHeaders(), toBackend, "orders-2:8080");
        keep(request("x-request-id: 1"), "Vary: Host", "known");
        assertThat(text(find(other))).isEqualTo("known");
    }

    @Test
    void theNewestVaryCounts() {
        keep(request("accept-language: de"), "Vary: Accept-Language", "deutsch");
        keep(request("accept-language: en"), "Vary: Accept-Language", "english");
        assertThat(text(find(request("accept-language: de")))).isEqualTo("deutsch");
        assertThat(text(find(request("accept-language: en")))).isEqualTo("english");
        assertThat(find(request("accept-language: fr"))).isNull();
        assertThat(find(request("x-request-id: 1"))).isNull();

        keep(request("accept-language: fr"), "X: y", "for all");
        assertThat(text(find(request("accept-language: de")))).isEqualTo("for all");
    }

    // ---------------------------------------------------------------- time

    @Test
    void isUsedUntilMaxAge() {
        keep(request("x-request-id: 1"), "Age: 5", "known");
        nanos.addAndGet(Duration.ofMinutes(10).toNanos() - 1);
        LastGoodReply reply = Objects.requireNonNull(find(request("x-request-id: 1")));
        assertThat(reply.ageSeconds()).isEqualTo(604);
        assertThat(reply.headers().get("age")).isEqualTo("604");
        nanos.incrementAndGet();
        assertThat(find(request("x-request-id: 1"))).isNull();
    }

    @Test
    void aShorterMaxAgeAppliesToAnswersThatAreKeptAlready() {
        keep(request("x-request-id: 1"), "X: y", "known");
        nanos.addAndGet(Duration.ofMinutes(2).toNanos());
        lastGood = lastGood(Duration.ofMinutes(1));
        assertThat(find(request("x-request-id: 1"))).isNull();
    }

    @Test
    void obeysStaleIfError() {
        keep(request("x-request-id: 1"), "Cache-Control: max-age=60, stale-if-error=30|Age: 10", "known");
        nanos.addAndGet(Duration.ofSeconds(79).toNanos());
        assertThat(find(request("x-request-id: 1"))).isNotNull();
        nanos.addAndGet(Duration.ofSeconds(1).toNanos());
        assertThat(find(request("x-request-id: 1"))).isNull();
    }

    @Test
    void aNewerAnswerStaysInWhateverOrderTheyArePutInPlace() {
        isDelayed = true;
        LastGoodRecording older = recording(request("x-request-id: 1"), "X: y");
        nanos.incrementAndGet();
        LastGoodRecording newer = recording(request("x-request-id: 1"), "X: y");
        add(newer, "newer");
        newer.complete();
        add(older, "older");
        older.complete();
        isDelayed = false;
        tasks.forEach(Runnable::run);
        assertThat(text(find(request("x-request-id: 1")))).isEqualTo("newer");
    }

    // ---------------------------------------------------------------- recording

    @Test
    void keepsOnlyCompleteAnswers() {
        LastGoodRecording dropped = recording(request("x-request-id: 1"), "X: y");
        add(dropped, "a part");
        dropped.drop();
        dropped.complete();
        LastGoodRecording tooShort = recording(request("x-request-id: 1"), "Content-Length: 9");
        add(tooShort, "a part");
        tooShort.complete();
        LastGoodRecording tooLong = recording(request("x-request-id: 1"), "Content-Length: 3");
        add(tooLong, "a part");
        tooLong.complete();
        assertThat(find(request("x-request-id: 1"))).isNull();
        assertThat(store.recordingBytes()).isZero();
    }

    /** A caller knows the length, too, and may leave with the last byte. */
    @Test
    void anAnswerOfKnownLengthIsCompleteWithItsLastByte() {
        LastGoodRecording recording = recording(request("x-request-id: 1"), "Content-Length: 4");
        add(recording, "bo");
        assertThat(recording.isWhole()).isFalse();
        add(recording, "dy");
        recording.drop();

        assertThat(text(find(request("x-request-id: 2")))).isEqualTo("body");
        assertThat(store.recordingBytes()).isZero();
        assertThat(recording(request("x-request-id: 3"), "Content-Length: 0").isWhole())
                .isTrue();
        assertThat(recording(request("x-request-id: 4"), "X: y").isWhole()).isFalse();
    }

    @Test
    void keepsNoLargeAnswerAndNoneWhoseEndIsNotCertain() {
        String whole = "x".repeat(64 << 10);
        LastGoodRecording large = recording(request("x-request-id: 1"), "X: y");
        add(large, whole);
        add(large, "y");
        large.complete();
        assertThat(find(request("x-request-id: 1"))).isNull();
        assertThat(begin(request("x-request-id: 1"), 200, headers("Content-Length: 65537")))
                .isNull();
        assertThat(begin(request("x-request-id: 1"), 200, headers("Content-Length: many")))
                .isNull();
        assertThat(begin(request("x-request-id: 1"), 200, headers("Connection: close")))
                .isNull();
        assertThat(begin(request("x-request-id: 1"), 201, headers("Content-Length: 1")))
                .isNull();
        assertThat(begin(request("x-request-id: 1"), 206, headers("Content-Length: 1")))
                .isNull();
        assertThat(store.recordingBytes()).isZero();

        keep(request("x-request-id: 1"), "X: y", whole);
        assertThat(Objects.requireNonNull(find(request("x-request-id: 1"))).body())
                .hasSize(whole.length());
    }

    @Test
    void recordingsTakeAtMostAQuarterOfTheMemory() {
        List<LastGoodRecording> under = Stream.generate(
                        () -> recording(request("x-request-id: 1"), "Content-Length: 65536"))
                .limit(10)
                .toList();
        under.forEach(one -> add(one, "x"));
        assertThat(store.recordingBytes()).isEqualTo(4 * 65_536);
        under.forEach(LastGoodRecording::drop);
        under.forEach(LastGoodRecording::drop);
        assertThat(store.recordingBytes()).isZero();
    }

    @Test
    void theStoreIsBoundedByItsMemory() {
        for (int i = 0; i < 100; i++) {
            keep(target("/" + i), "X: y", "x".repeat(50_000));
        }
        assertThat(store.bytes()).isBetween(500_000L, 1L << 20);
        assertThat(store.entries()).isLessThan(21);
    }

    // ---------------------------------------------------------------- emptied, reloaded

    @Test
    void anAnswerThatIsUnderWayWhileTheStoreIsEmptiedIsNotKept() {
        keep(target("/other"), "X: y", "kept");
        LastGoodRecording before = recording(request("x-request-id: 1"), "X: y");
        assertThat(store.empty(null)).isEqualTo(1);
        add(before, "poisoned");
        before.complete();
        assertThat(find(request("x-request-id: 1"))).isNull();
        assertThat(find(target("/other"))).isNull();
        assertThat(store.entries()).isZero();
        assertThat(store.recordingBytes()).isZero();
    }

    @Test
    void emptiesOneRoute() {
        LastGood billing = new LastGood(properties(Duration.ofMinutes(10)), new AnswerSpace("billing"), store, "");
        keep(request("x-request-id: 1"), "X: y", "orders");
        LastGoodRecording recording =
                Objects.requireNonNull(billing.record(request("x-request-id: 1"), 200, headers("Content-Length: 0")));
        recording.complete();
        assertThat(store.empty("orders")).isEqualTo(1);
        assertThat(find(request("x-request-id: 1"))).isNull();
        assertThat(billing.find(request("x-request-id: 1"), "detail=circuit-open"))
                .isNotNull();
    }

    @Test
    void aSpaceThatIsNotRetainedLosesItsAnswersForGood() {
        AnswerSpace kept = new AnswerSpace("kept");
        LastGood other = new LastGood(properties(Duration.ofMinutes(10)), kept, store, "");
        Objects.requireNonNull(other.record(request("x-request-id: 1"), 200, headers("Content-Length: 0")))
                .complete();
        keep(request("x-request-id: 1"), "X: y", "lost");
        store.retain(Set.of(kept));
        keep(request("x-request-id: 1"), "X: y", "of a call that was under way");
        assertThat(find(request("x-request-id: 1"))).isNull();
        assertThat(other.find(request("x-request-id: 1"), "detail=circuit-open"))
                .isNotNull();
        assertThat(store.entries()).isEqualTo(1);
    }

    // ---------------------------------------------------------------- fixtures

    private void execute(Runnable task) {
        if (isDelayed) {
            tasks.add(task);
        } else {
            task.run();
        }
    }

    private LastGood lastGood(Duration maxAge) {
        return new LastGood(properties(maxAge), space, store, "");
    }

    private static LastGoodProperties properties(Duration maxAge) {
        return new LastGoodProperties(maxAge, DataSize.ofKilobytes(64), List.of());
    }

    /** A request that reaches the backend with the fields that the caller has sent. */
    private static LastGoodRequest request(String field) {
        HttpHeaders fields = headers(field);
        HttpHeaders toBackend = new DefaultHttpHeaders().set("host", INSTANCE).set(fields);
        return new LastGoodRequest(HttpMethod.GET, "/1", fields, toBackend, INSTANCE);
    }

    private static LastGoodRequest target(String target) {
        return new LastGoodRequest(
                HttpMethod.GET, target, new DefaultHttpHeaders(), new DefaultHttpHeaders(), INSTANCE);
    }

    private void keep(LastGoodRequest request, String fields, String body) {
        assertThat(keeps(request, fields, body)).isTrue();
    }

    private boolean keeps(LastGoodRequest request, String fields, String body) {
        HttpHeaders answer = headers(fields).set("transfer-encoding", "chunked");
        LastGoodRecording recording = begin(request, 200, answer);
        if (recording == null) {
            return false;
        }
        add(recording, body);
        recording.complete();
        return true;
    }

    private LastGoodRecording recording(LastGoodRequest request, String fields) {
        HttpHeaders answer = headers(fields);
        if (!answer.contains("content-length")) {
            answer.set("transfer-encoding", "chunked");
        }
        return Objects.requireNonNull(begin(request, 200, answer));
    }

    private @Nullable LastGoodRecording begin(LastGoodRequest request, int status, HttpHeaders answer) {
        return lastGood.record(request, status, answer);
    }

    private static void add(LastGoodRecording recording, String part) {
        recording.add(Unpooled.copiedBuffer(part, StandardCharsets.UTF_8));
    }

    private @Nullable LastGoodReply find(LastGoodRequest request) {
        return lastGood.find(request, "detail=circuit-open");
    }

    private static String text(@Nullable LastGoodReply reply) {
        return new String(Objects.requireNonNull(reply).body(), StandardCharsets.UTF_8);
    }

    private static HttpHeaders headers(String fields) {
        HttpHeaders headers = new DefaultHttpHeaders();
        for (String field : fields.split("\\|", -1)) {
            int colon = field.indexOf(':');
            headers.add(field.substring(0, colon), field.substring(colon + 1).strip());
        }
        return headers;
    }
}
