package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.pkitesting.CertificateBuilder;
import io.weir.authentication.AuthenticationRule;
import io.weir.authentication.ClientCertificate;
import io.weir.authentication.TestAuthentication;
import io.weir.authentication.TestIssuer;
import io.weir.limit.Tenants;
import io.weir.outcome.Refusal;
import io.weir.ratelimit.RateLimitProperties;
import io.weir.ratelimit.RateLimiter;
import io.weir.testing.Leaks;
import java.security.cert.Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A route that requires a proof of identity, within an exchange. */
@ExtendWith(Leaks.class)
class UnauthorizedCallerTest {

    private final TestAuthentication authentication = new TestAuthentication();

    private static ExchangeFixture withToken(AuthenticationRule rule) {
        return withTokenOf(rule, "alice");
    }

    private static ExchangeFixture withTokenOf(AuthenticationRule rule, @Nullable String subject) {
        ExchangeFixture fixture = new ExchangeFixture().withAuthentication(rule);
        fixture.caller.headers.set(
                "Authorization",
                "Bearer " + TestIssuer.token(TestIssuer.FIRST, Instant.now(), claims -> claims.subject(subject)));
        return fixture;
    }

    /** One request an hour for each value of the claim {@code sub}. */
    private static RateLimiter oncePerSubject() {
        return RateLimiter.of(
                "orders",
                new RateLimitProperties("claim:sub", 1, Duration.ofHours(1), null, 1_000, true, false),
                null,
                null,
                () -> 0);
    }

    private String outcomeOf(RateLimiter limiter, @Nullable String subject) {
        ExchangeFixture fixture = withTokenOf(authentication.rule(), subject)
                .withRateLimiter(limiter)
                .start();
        if (!fixture.attempts.isEmpty()) {
            fixture.finish();
        }
        fixture.assertEndedCleanly();
        return fixture.outcome();
    }

    private static Refusal refusal(ExchangeFixture fixture) {
        return Objects.requireNonNull(fixture.caller.refusal);
    }

    @Test
    void isRefusedBeforeQuotaBreakerPermitAndBody() {
        authentication.know(TestIssuer.FIRST);
        ExchangeFixture fixture = new ExchangeFixture()
                .withAuthentication(authentication.rule())
                .withRateLimit(1, true)
                .withUpload();
        fixture.health.operator().forceOpen();

        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("unauthorized 401");
        assertThat(refusal(fixture).challenge()).isEqualTo("Bearer");
        assertThat(fixture.record().quota()).as("permit of the quota").isNull();
        assertThat(fixture.record().token()).isNull();
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.probes).as("shadow probes").isEmpty();
        assertThat(fixture.limit.started).as("samples of the limit").isZero();
        fixture.assertEndedCleanly();
        fixture.health.operator().release();
    }

    @Test
    void hasAQuotaByAClaimOfItsToken() {
        authentication.know(TestIssuer.FIRST);
        RateLimiter limiter = oncePerSubject();

        String first = outcomeOf(limiter, "alice");

        assertThat(outcomeOf(limiter, "alice")).isEqualTo("rate-limited 429");
        assertThat(outcomeOf(limiter, "bob")).isEqualTo(first).isNotEqualTo("rate-limited 429");
    }

    @Test
    void withoutTheClaimSharesOneQuotaWithTheOthers() {
        authentication.know(TestIssuer.FIRST);
        RateLimiter limiter = oncePerSubject();

        assertThat(outcomeOf(limiter, null)).isNotEqualTo("rate-limited 429");
        assertThat(outcomeOf(limiter, "")).isEqualTo("rate-limited 429");
        assertThat(outcomeOf(limiter, "alice")).isNotEqualTo("rate-limited 429");
    }

    @Test
    void withAForgedTokenUsesNoQuotaOfItsOwner() {
        authentication.know(TestIssuer.FIRST);
        RateLimiter limiter = oncePerSubject();
        ExchangeFixture forged =
                new ExchangeFixture().withAuthentication(authentication.rule()).withRateLimiter(limiter);
        forged.caller.headers.set("Authorization", "Bearer " + TestIssuer.signedWithPublicKeyAsSecret(Instant.now()));

        forged.start();

        assertThat(forged.outcome()).isEqualTo("unauthorized 401");
        assertThat(limiter.keys()).isZero();
        forged.assertEndedCleanly();
        assertThat(outcomeOf(limiter, "alice")).isNotEqualTo("rate-limited 429");
    }

    @Test
    void takesItsQuotaAfterTheWaitForTheKeysOfItsToken() {
        RateLimiter limiter = oncePerSubject();
        ExchangeFixture fixture =
                withToken(authentication.rule()).withRateLimiter(limiter).start();
        assertThat(limiter.keys()).isZero();

        authentication.answer(TestIssuer.FIRST);
        fixture.channel.runPendingTasks();

        assertThat(fixture.attempts).hasSize(1);
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(outcomeOf(limiter, "alice")).isEqualTo("rate-limited 429");
    }

    @Test
    void waitsAsTheTenantThatAClaimOfItsTokenNames() {
        authentication.know(TestIssuer.FIRST);
        ExchangeFixture fixture = withToken(authentication.rule())
                .withTenants("claim:sub")
                .takePermit()
                .start();
        fixture.advance(ExchangeFixture.MAX_WAIT);
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.tenantsRead).as("asked the door").isZero();
        assertThat(fixture.tenants().largest()).containsExactly(new Tenants.Usage("alice https://id.example", 0, 1));
    }

    @Test
    void withATokenIsServed() {
        authentication.know(TestIssuer.FIRST);
        ExchangeFixture fixture = withToken(authentication.rule()).start();

        assertThat(fixture.attempts).hasSize(1);
        assertThat(Objects.requireNonNull(fixture.record().token()).identity()).isEqualTo("alice");
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void withoutAScopeIsForbidden() {
        authentication.know(TestIssuer.FIRST);
        ExchangeFixture fixture = withToken(authentication.rule("orders.read")).start();

        assertThat(fixture.outcome()).isEqualTo("forbidden 403");
        assertThat(refusal(fixture).challenge()).contains("insufficient_scope");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        fixture.assertEndedCleanly();
    }

    @Test
    void waitsForUnknownKeysAndHoldsNothing() {
        ExchangeFixture fixture =
                withToken(authentication.rule()).withRateLimit(1, true).start();

        assertThat(fixture.caller.events()).isEqualTo("nothing");
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.record().quota()).isNull();
        authentication.answer(TestIssuer.FIRST);
        assertThat(fixture.attempts).as("on the thread of the fetch").isEmpty();
        fixture.channel.runPendingTasks();

        assertThat(fixture.attempts).hasSize(1);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void isRefusedIfTheKeysRemainUnknown() {
        ExchangeFixture fixture = withToken(authentication.rule()).start();
        authentication.fail();
        fixture.channel.runPendingTasks();

        assertThat(fixture.outcome()).isEqualTo("unauthorized 401");
        assertThat(refusal(fixture).detail()).isEqualTo("the keys of the token's issuer are not known");
        assertThat(refusal(fixture).challenge()).isEqualTo("Bearer");
        fixture.assertEndedCleanly();
    }

    @Test
    void thatLeavesDuringTheWaitEndsOnce() {
        ExchangeFixture fixture = withToken(authentication.rule()).start();
        fixture.exchange().callerLeft();

        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
        authentication.answer(TestIssuer.FIRST);
        fixture.channel.runPendingTasks();

        assertThat(fixture.attempts).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void waitsNoLongerThanItsDeadlineAndNoBackendIsBlamed() {
        ExchangeFixture fixture = withToken(authentication.rule()).start();
        fixture.advance(ExchangeFixture.DEADLINE.minusMillis(20));
        assertThat(fixture.caller.events()).isEqualTo("nothing");
        fixture.advance(Duration.ofMillis(40));

        assertThat(fixture.outcome()).isEqualTo("unauthorized 401");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        authentication.answer(TestIssuer.FIRST);
        fixture.channel.runPendingTasks();
        assertThat(fixture.attempts).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void isRefusedDuringTheWaitIfTheGatewayStops() {
        ExchangeFixture fixture = withToken(authentication.rule()).start();
        fixture.exchange().shutDown();
        fixture.channel.runPendingTasks();

        assertThat(fixture.outcome()).isEqualTo("shutting-down 503");
        authentication.answer(TestIssuer.FIRST);
        fixture.channel.runPendingTasks();
        fixture.assertEndedCleanly();
    }

    @Test
    void withoutACertificateIsForbidden() throws Exception {
        ExchangeFixture without = new ExchangeFixture()
                .withAuthentication(TestAuthentication.certificate())
                .start();
        assertThat(without.outcome()).isEqualTo("forbidden 403");
        assertThat(refusal(without).challenge()).isNull();
        without.assertEndedCleanly();

        ExchangeFixture with = new ExchangeFixture().withAuthentication(TestAuthentication.certificate());
        with.caller.clientCertificate = ClientCertificate.of(new Certificate[] {
            new CertificateBuilder()
                    .subject("CN=alice")
                    .setIsCertificateAuthority(true)
                    .buildSelfSigned()
                    .getCertificate()
        });
        with.start();
        assertThat(with.attempts).hasSize(1);
        with.finish();
        with.assertEndedCleanly();
    }

    @Test
    void withACertificateThatTheRouteDoesNotAcceptIsForbidden() throws Exception {
        AuthenticationRule rule = TestAuthentication.certificate("subject:CN=bob", "dns:*.batch.example");
        ClientCertificate alice = ClientCertificate.of(new Certificate[] {
            new CertificateBuilder()
                    .subject("CN=alice,O=Example")
                    .addSanDnsName("batch.example")
                    .setIsCertificateAuthority(true)
                    .buildSelfSigned()
                    .getCertificate()
        });
        ExchangeFixture fixture = new ExchangeFixture()
                .withAuthentication(rule)
                .withRateLimit(1, true)
                .withUpload();
        fixture.caller.clientCertificate = alice;
        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("forbidden 403");
        assertThat(refusal(fixture).detail())
                .isEqualTo("the route does not accept the client certificate CN=alice,O=Example");
        assertThat(refusal(fixture).challenge()).isNull();
        assertThat(fixture.record().quota()).as("permit of the quota").isNull();
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        fixture.assertEndedCleanly();

        ExchangeFixture listed =
                new ExchangeFixture().withAuthentication(TestAuthentication.certificate("dns:batch.example"));
        listed.caller.clientCertificate = alice;
        listed.start();
        assertThat(listed.attempts).hasSize(1);
        listed.finish();
        listed.assertEndedCleanly();
    }
}
