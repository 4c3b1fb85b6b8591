package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.pkitesting.CertificateBuilder;
import io.weir.authentication.AuthenticationRule;
import io.weir.authentication.ClientCertificate;
import io.weir.authentication.TestAuthentication;
import io.weir.authentication.TestIssuer;
import io.weir.outcome.Refusal;
import io.weir.testing.Leaks;
import java.security.cert.Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A route that requires a proof of identity, within an exchange. */
@ExtendWith(Leaks.class)
class UnauthorizedCallerTest {

    private final TestAuthentication authentication = new TestAuthentication();

    private static ExchangeFixture withToken(AuthenticationRule rule) {
        ExchangeFixture fixture = new ExchangeFixture().withAuthentication(rule);
        fixture.caller.headers.set("Authorization", "Bearer " + TestIssuer.token(TestIssuer.FIRST, Instant.now()));
        return fixture;
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
        fixture.health.forceOpen();

        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("unauthorized 401");
        assertThat(refusal(fixture).challenge()).isEqualTo("Bearer");
        assertThat(fixture.record().quota()).as("permit of the quota").isNull();
        assertThat(fixture.record().token()).isNull();
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.probes).as("shadow probes").isEmpty();
        assertThat(fixture.limit.started).as("samples of the limit").isZero();
        fixture.assertEndedCleanly();
        fixture.health.release();
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

        assertThat(fixture.caller.received()).isEqualTo("nothing");
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
        assertThat(fixture.caller.received()).isEqualTo("nothing");
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
}
