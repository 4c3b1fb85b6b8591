package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.authorization.Authorization;
import io.weir.authorization.AuthorizationCache;
import io.weir.authorization.AuthorizationCacheProperties;
import io.weir.authorization.AuthorizationResult;
import io.weir.authorization.OnFailure;
import io.weir.drain.Drain;
import io.weir.testing.Leaks;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.util.unit.DataSize;

/** A route whose requests another backend authorizes, within an exchange. */
@ExtendWith(Leaks.class)
class AuthorizingTest {

    private static ExchangeFixture refusing() {
        return new ExchangeFixture().withAuthorizer(OnFailure.REFUSE);
    }

    private static ExchangeFixture passing() {
        return new ExchangeFixture().withAuthorizer(OnFailure.PASS);
    }

    /** The call to the authorizer, which is the first attempt. */
    private static FakeAttempt asked(ExchangeFixture fixture) {
        return fixture.attempts.getFirst();
    }

    private static HttpHeaders head(String... fields) {
        HttpHeaders head = new DefaultHttpHeaders().setInt("content-length", FakeAttempt.BODY.length());
        for (int i = 0; i < fields.length; i += 2) {
            head.set(fields[i], fields[i + 1]);
        }
        return head;
    }

    private static void answers(ExchangeFixture fixture, int status, String... fields) {
        asked(fixture).begins(status, head(fields)).answers();
        fixture.channel.runPendingTasks();
    }

    private static @Nullable AuthorizationResult result(ExchangeFixture fixture) {
        Authorization authorization = fixture.record().authorization();
        return authorization == null ? null : authorization.result();
    }

    private static HttpHeaders toBackend(ExchangeFixture fixture, String... forged) {
        HttpHeaders head = head(forged);
        fixture.record().writeIdentity(head);
        return head;
    }

    @Test
    void asksBeforeAnythingOfTheBackendIsTaken() {
        ExchangeFixture fixture = refusing().withUpload().withRateLimit(1, true).start();

        assertThat(fixture.attempts).hasSize(1);
        assertThat(asked(fixture).backend.name()).isEqualTo("other");
        assertThat(fixture.otherBulkhead.inUse()).isEqualTo(1);
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.routeLimit.inUse()).isZero();
        fixture.upload().source.assertWasNotSubscribed();
        assertThat(result(fixture)).isNull();
        fixture.exchange().callerLeft();
        fixture.assertEndedCleanly();
    }

    @Test
    void asksWithAGetAboutTheRequest() {
        ExchangeFixture fixture = refusing().withRequestBody();
        fixture.caller.headers.set("Authorization", "Bearer a").set("X-Other", "o");
        fixture.start();
        Caller call = asked(fixture).exchange.record().caller();
        HttpHeaders head = new DefaultHttpHeaders();

        call.writeHead(head, "auth:80");

        assertThat(call.method().name() + " " + call.target()).isEqualTo("GET /verify");
        assertThat(call.hasBody()).isFalse();
        assertThat(head.entries())
                .extracting(field -> field.getKey() + ": " + field.getValue())
                .containsExactlyInAnyOrder(
                        "authorization: Bearer a",
                        "host: auth:80",
                        "x-forwarded-method: GET",
                        "x-forwarded-uri: /orders?id=1");
        fixture.exchange().callerLeft();
        fixture.assertEndedCleanly();
    }

    @Test
    void doesNotAskAboutARequestOverItsQuota() {
        ExchangeFixture fixture = refusing().withRateLimit(1, true).useUpQuota().start();

        assertThat(fixture.outcome()).isEqualTo("rate-limited 429");
        assertThat(fixture.attempts).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void goesOnWithTheFieldsOfTheAuthorizer() {
        ExchangeFixture fixture = refusing().start();

        answers(fixture, 200, "x-user", "alice");

        assertThat(fixture.attempts).hasSize(2);
        assertThat(fixture.otherBulkhead.inUse()).isZero();
        assertThat(fixture.bulkhead.inUse()).isEqualTo(1);
        assertThat(result(fixture)).isEqualTo(AuthorizationResult.ALLOWED);
        assertThat(toBackend(fixture, "X-User", "mallory").getAll("x-user")).containsExactly("alice");
        fixture.finish();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.record().backend().name()).isEqualTo("orders");
        fixture.assertEndedCleanly();
    }

    @Test
    void passesADenialOnToTheCaller() {
        ExchangeFixture fixture = refusing().withOtherBackend().withLastGood().start();

        answers(fixture, 401, "www-authenticate", "Basic");
        fixture.exchange().flushed();

        assertThat(fixture.caller.events()).isEqualTo("answer 401");
        assertThat(fixture.caller.answered).isEqualTo(FakeAttempt.BODY);
        assertThat(fixture.outcome()).isEqualTo("unauthorized 401");
        assertThat(fixture.record().backend().name()).isEqualTo("other");
        assertThat(fixture.record().detail()).isEqualTo("the authorizer answered with status 401");
        assertThat(result(fixture)).isEqualTo(AuthorizationResult.DENIED);
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.limit.started).as("samples: the authorizer's only").isEqualTo(1);
        fixture.assertEndedCleanly();
    }

    @Test
    void namesADenialByItsStatus() {
        assertThat(denied(403)).isEqualTo("forbidden 403");
        assertThat(denied(302)).isEqualTo("302");
        assertThat(denied(429)).isEqualTo("429");
    }

    private static String denied(int status) {
        ExchangeFixture fixture = passing().start();
        answers(fixture, status);
        fixture.exchange().flushed();
        assertThat(fixture.caller.events()).isEqualTo("answer " + status);
        fixture.assertEndedCleanly();
        return fixture.outcome();
    }

    @Test
    void deniesAGrpcCallWithAStatus() {
        ExchangeFixture fixture = refusing();
        fixture.caller.headers.set("content-type", "application/grpc");
        fixture.start();

        answers(fixture, 302, "location", "/login");

        assertThat(fixture.caller.events()).isEqualTo("refuse unauthorized");
        fixture.assertEndedCleanly();
    }

    @Test
    void refusesIfTheAuthorizerFails() {
        ExchangeFixture fixture = refusing().withOtherBackend().withLastGood().start();

        answers(fixture, 500);

        assertThat(fixture.outcome()).isEqualTo("authorizer-failed 503");
        assertThat(Objects.requireNonNull(fixture.caller.refusal).retryAfterMillis())
                .isPositive();
        assertThat(fixture.record().backend().name()).isEqualTo("other");
        assertThat(result(fixture)).isEqualTo(AuthorizationResult.FAILED);
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.breakerCounts()).as("of the route's backend").isEqualTo("0/0");
        assertThat(fixture.otherHealth.resilience4j().getMetrics().getNumberOfFailedCalls())
                .isEqualTo(1);
        fixture.assertEndedCleanly();
    }

    @Test
    void refusesAtOnceWithTheReasonOfTheAuthorizersCompartment() {
        ExchangeFixture open = refusing().withStaticFallback().withLastGood();
        open.otherHealth.operator().forceOpen();
        open.start();

        assertThat(open.outcome()).isEqualTo("circuit-open 503");
        assertThat(open.record().backend().name()).isEqualTo("other");
        assertThat(Objects.requireNonNull(open.caller.refusal).retryAfterMillis())
                .isPositive();
        open.otherHealth.operator().release();
        open.assertEndedCleanly();

        ExchangeFixture full = refusing().withStaticFallback();
        full.otherBulkhead.tryAcquire();
        full.start();

        // The fallback covers bulkhead-full.
        assertThat(full.caller.events()).isEqualTo("refuse bulkhead-full");
        full.otherBulkhead.release();
        full.assertEndedCleanly();
    }

    @Test
    void goesOnWithoutFieldsIfTheAuthorizerFailsAndTheRoutePasses() {
        ExchangeFixture fixture = passing();
        fixture.otherHealth.operator().forceOpen();
        fixture.start();

        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.attempt().backend.name()).isEqualTo("orders");
        assertThat(result(fixture)).isEqualTo(AuthorizationResult.PASSED);
        assertThat(toBackend(fixture, "X-User", "mallory").contains("x-user")).isFalse();
        fixture.finish();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.record().detail()).isEqualTo("passed without authorization: the authorizer: circuit-open");
        fixture.otherHealth.operator().release();
        fixture.assertEndedCleanly();

        ExchangeFixture broken = passing().start();
        asked(broken).fails();
        broken.channel.runPendingTasks();
        assertThat(result(broken)).isEqualTo(AuthorizationResult.PASSED);
        broken.finish();
        broken.assertEndedCleanly();
    }

    @Test
    void cancelsTheCallIfTheCallerLeaves() {
        ExchangeFixture fixture = refusing().start();
        asked(fixture).connects();

        fixture.exchange().callerLeft();

        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
        assertThat(asked(fixture).cancelled).isEqualTo(1);
        assertThat(fixture.otherBulkhead.inUse()).isZero();
        answers(fixture, 200);
        assertThat(fixture.attempts).hasSize(1);
        assertThat(result(fixture)).isNull();
        fixture.assertEndedCleanly();
    }

    @Test
    void refusesAtTheDeadlineAndBlamesTheAuthorizerAlone() {
        ExchangeFixture fixture = refusing().withLastGood().start();
        asked(fixture).connects();

        fixture.advance(ExchangeFixture.DEADLINE.plusMillis(20));

        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.record().backend().name()).isEqualTo("other");
        assertThat(asked(fixture).cancelled).isEqualTo(1);
        assertThat(fixture.otherHealth.resilience4j().getMetrics().getNumberOfFailedCalls())
                .isEqualTo(1);
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        fixture.assertEndedCleanly();
    }

    @Test
    void endsWithTheCallersShorterDeadline() {
        ExchangeFixture fixture =
                refusing().withCallerTimeout(Duration.ofMillis(100)).start();
        asked(fixture).connects();

        fixture.advance(Duration.ofMillis(120));

        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        fixture.assertEndedCleanly();
    }

    @Test
    void isRefusedIfTheGatewayStops() {
        ExchangeFixture fixture = refusing().start();

        fixture.engine.endAll();
        fixture.channel.runPendingTasks();

        assertThat(fixture.outcome()).isEqualTo("shutting-down 503");
        fixture.assertEndedCleanly();
    }

    @Test
    void mayAskDuringADrainThatBeganAfterTheRequest() {
        ExchangeFixture fixture = refusing().start();
        fixture.drain.enter(Drain.Phase.REFUSING);

        answers(fixture, 204);

        assertThat(fixture.attempts).hasSize(2);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    // ---------------------------------------------------------------- cached answers

    private static ExchangeFixture cached(AuthorizationCache cache, OnFailure onFailure, String credentials) {
        ExchangeFixture fixture = new ExchangeFixture().withAuthorizer(onFailure, cache);
        fixture.caller.headers.set("authorization", credentials);
        return fixture.start();
    }

    private static AuthorizationCache cache() {
        return new AuthorizationCache(
                new AuthorizationCacheProperties(
                        List.of("authorization"), Duration.ofSeconds(10), false, DataSize.ofMegabytes(1)),
                () -> 0,
                Runnable::run);
    }

    @Test
    void doesNotAskAgainAboutAnAllowedRequest() {
        AuthorizationCache cache = cache();
        ExchangeFixture first = cached(cache, OnFailure.REFUSE, "alice");
        answers(first, 200, "x-user", "alice");
        first.finish();
        first.assertEndedCleanly();

        ExchangeFixture again = cached(cache, OnFailure.REFUSE, "alice");
        ExchangeFixture other = cached(cache, OnFailure.REFUSE, "bob");

        assertThat(again.attempts).hasSize(1);
        assertThat(again.attempt().backend.name()).isEqualTo("orders");
        assertThat(result(again)).isEqualTo(AuthorizationResult.ALLOWED_CACHED);
        assertThat(toBackend(again, "X-User", "mallory").getAll("x-user")).containsExactly("alice");
        again.finish();
        again.assertEndedCleanly();
        assertThat(asked(other).backend.name()).isEqualTo("other");
        other.exchange().callerLeft();
        other.assertEndedCleanly();
    }

    @Test
    void doesNotAskAgainAboutADeniedRequest() {
        AuthorizationCache cache = cache();
        ExchangeFixture first = cached(cache, OnFailure.REFUSE, "mallory");
        answers(first, 403);
        first.exchange().flushed();
        first.assertEndedCleanly();

        ExchangeFixture again = cached(cache, OnFailure.REFUSE, "mallory");
        again.exchange().flushed();

        assertThat(again.attempts).isEmpty();
        assertThat(again.caller.events()).isEqualTo("answer 403");
        assertThat(again.caller.answered).isEqualTo(FakeAttempt.BODY);
        assertThat(again.outcome()).isEqualTo("forbidden 403");
        assertThat(result(again)).isEqualTo(AuthorizationResult.DENIED_CACHED);
        again.assertEndedCleanly();
    }

    @Test
    void asksAgainAfterAFailure() {
        AuthorizationCache cache = cache();
        ExchangeFixture first = cached(cache, OnFailure.PASS, "alice");
        answers(first, 500);
        first.finish();
        first.assertEndedCleanly();

        ExchangeFixture again = cached(cache, OnFailure.PASS, "alice");

        assertThat(asked(again).backend.name()).isEqualTo("other");
        again.exchange().callerLeft();
        again.assertEndedCleanly();
    }
}
