package io.weir.engine;

import io.weir.body.TruncatedBody;
import io.weir.faults.InjectedFault;
import org.reactivestreams.Publisher;

/** An attempt over the network whose connection is lost within the answer's body: an injected fault. */
final class TruncatedAttempt extends HttpAttempt {

    private final InjectedFault fault;

    TruncatedAttempt(
            InjectedFault fault, ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        super(exchange, admission, evidence, now);
        this.fault = fault;
    }

    @Override
    Publisher<?> answerBody() {
        return new TruncatedBody(
                super.answerBody(), fault.order().afterBytes(), "connection reset by " + fault.label());
    }
}
