package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.outcome.Reason;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Told of what one exchange goes through, while it does. Called on the exchange's event loop, with times on the engine's
 * clock; must not block.
 */
public interface ExchangeTrace {

    /** The trace's id, 32 hexadecimal digits. */
    String traceId();

    /** The exchange was in a queue for this time, and got its permit or not. */
    void waited(long from, long to, boolean permitted);

    /**
     * An attempt begins.
     *
     * @param method the method that the backend is asked with
     * @param target the path and query that the backend is asked for
     * @return writes the trace's context into the head that goes to the backend, on any thread; null: it goes as it came
     */
    @Nullable
    Consumer<HttpHeaders> attempted(Backend backend, String method, String target, long now);

    /** The head of the attempt's answer is there. */
    void answered(int status);

    /**
     * The attempt is over.
     *
     * @param why what ended it; null if its answer did
     */
    void attemptEnded(@Nullable Reason why, long now);

    /** The exchange is over; all its figures are final. */
    void ended(Exchange exchange);
}
