package io.weir.authorization;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.authorization.AuthorizationRule.Verdict;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AuthorizationRuleTest {

    private static AuthorizationRule rule(List<String> in, List<String> out) {
        return new AuthorizationRule(new AuthorizeProperties("auth", "/verify", in, out, OnFailure.REFUSE, null));
    }

    @ParameterizedTest
    @CsvSource({
        "101, FAILS",
        "200, ALLOWS",
        "204, ALLOWS",
        "299, ALLOWS",
        "302, DENIES",
        "304, FAILS",
        "307, DENIES",
        "400, DENIES",
        "401, DENIES",
        "403, DENIES",
        "404, DENIES",
        "429, DENIES",
        "499, DENIES",
        "500, FAILS",
        "503, FAILS",
        "600, FAILS"
    })
    void decidesByTheStatus(int status, Verdict verdict) {
        assertThat(AuthorizationRule.verdict(status)).isEqualTo(verdict);
    }

    @Test
    void givesTheAuthorizerTheNamedFieldsOnly() {
        HttpHeaders received = new DefaultHttpHeaders()
                .add("Authorization", "Bearer a")
                .add("Cookie", "a=1")
                .add("Cookie", "b=2")
                .add("X-Other", "o");
        HttpHeaders to = new DefaultHttpHeaders();

        rule(List.of("Authorization", "COOKIE", "x-absent"), List.of()).copyRequest(received, to);

        assertThat(to.entries())
                .extracting(field -> field.getKey() + ": " + field.getValue())
                .containsExactly("authorization: Bearer a", "cookie: a=1", "cookie: b=2");
    }

    @Test
    void givesTheBackendTheNamedFieldsOfTheAnswer() {
        AuthorizationRule rule = rule(List.of(), List.of("X-User", "X-Groups"));
        Authorization allowed = rule.allowed(new DefaultHttpHeaders()
                .add("x-user", "alice")
                .add("x-groups", "a")
                .add("x-groups", "b")
                .add("set-cookie", "s=1"));
        HttpHeaders toBackend = new DefaultHttpHeaders().add("accept", "*/*");

        rule.writeGranted(allowed, toBackend);

        assertThat(allowed.result()).isEqualTo(AuthorizationResult.ALLOWED);
        assertThat(toBackend.entries())
                .extracting(field -> field.getKey() + ": " + field.getValue())
                .containsExactly("accept: */*", "x-user: alice", "x-groups: a", "x-groups: b");
    }

    @Test
    void removesForgedFieldsInEverySpellingAlsoIfTheAuthorizerSendsNone() {
        AuthorizationRule rule = rule(List.of(), List.of("x-user"));
        HttpHeaders toBackend = new DefaultHttpHeaders()
                .add("X-User", "mallory")
                .add("x_user", "mallory")
                .add("X_USER", "root")
                .add("x-user-agent", "kept");

        rule.writeGranted(rule.allowed(new DefaultHttpHeaders()), toBackend);

        assertThat(toBackend.entries())
                .extracting(field -> field.getKey() + ": " + field.getValue())
                .containsExactly("x-user-agent: kept");

        HttpHeaders passed = new DefaultHttpHeaders().add("X-User", "mallory");
        rule.writeGranted(Authorization.without(AuthorizationResult.PASSED), passed);
        assertThat(passed.isEmpty()).isTrue();
    }
}
