package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.instance.Instance;
import io.weir.outcome.Reason;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Receives the steps of one exchange as they happen. Called on the exchange's event loop, with times of the
 * engine's clock; must not block.
 */
public interface ExchangeTrace {

    /** The trace's id, 32 hexadecimal digits. */
    String traceId();

    /** The exchange left a queue. */
    void waited(long from, long to, boolean permitted);

    /**
     * An attempt begins.
     *
     * @param instance the instance that the request goes to
     * @param method the method of the request to the backend
     * @param target the path and query of the request to the backend
     * @return writes the trace's context into the request's head, on any thread; null: the head stays as it
     *     is
     */
    @Nullable
    Consumer<HttpHeaders> attempted(Backend backend, Instance instance, String method, String target, long now);

    /** The head of the attempt's answer has arrived. */
    void answered(int status);

    /**
     * The attempt has ended.
     *
     * @param why the reason that ended it; null: its answer is complete
     */
    void attemptEnded(@Nullable Reason why, long now);

    /**
     * The next steps are those of the other one of two attempts that run at once; the first time, of one that
     * begins.
     */
    default void switchAttempt() {}

    /** The exchange has ended; all its facts are final. */
    void ended(ExchangeRecord exchange);
}
