package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.authorization.OnFailure;
import io.weir.instance.Instance;
import io.weir.outcome.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class AuthorizerTraceTest {

    private final List<String> steps = new ArrayList<>();

    /** The trace of the exchange, which knows one attempt at a time. */
    private final ExchangeTrace ofExchange = new ExchangeTrace() {
        @Override
        public String traceId() {
            return "id";
        }

        @Override
        public void waited(long from, long to, boolean permitted) {
            steps.add("waited");
        }

        @Override
        public @Nullable Consumer<HttpHeaders> attempted(
                Backend backend, Instance instance, String method, String target, long now) {
            steps.add("attempted " + backend.name() + " " + method + " " + target);
            return head -> head.set("traceparent", "of-the-call");
        }

        @Override
        public void answered(int status) {
            steps.add("answered " + status);
        }

        @Override
        public void attemptEnded(@Nullable Reason why, long now) {
            steps.add("ended " + (why == null ? "" : why.word()));
        }

        @Override
        public void ended(ExchangeRecord exchange) {
            steps.add("exchange ended");
        }
    };

    private final AuthorizerTrace trace = new AuthorizerTrace(ofExchange);

    private @Nullable Consumer<HttpHeaders> attempt() {
        ExchangeFixture fixture =
                new ExchangeFixture().withAuthorizer(OnFailure.REFUSE).start();
        FakeAttempt asked = fixture.attempts.getFirst();
        Consumer<HttpHeaders> context = trace.attempted(asked.backend, asked.instance, "GET", "/verify", 0);
        fixture.exchange().callerLeft();
        fixture.assertEndedCleanly();
        return context;
    }

    @Test
    void showsTheCallAsAnAttemptOfTheExchange() {
        assertThat(attempt()).isNotNull();
        trace.answered(401);
        trace.attemptEnded(null, 1);
        trace.decided(2);

        assertThat(steps).containsExactly("attempted other GET /verify", "answered 401", "ended ");
        assertThat(trace.traceId()).isEqualTo("id");
    }

    @Test
    void endsTheAttemptWithTheDecisionAlthoughTheBodyIsStillOnItsWay() {
        attempt();
        trace.answered(200);
        trace.decided(1);
        // The exchange has an attempt of its own by now.
        trace.attemptEnded(Reason.CONNECTION_LOST, 2);

        assertThat(steps).containsExactly("attempted other GET /verify", "answered 200", "ended ");
    }
}
