package io.weir.authorization;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The answers of a route's authorizer that serve further requests.
 *
 * <p>Concurrency: Caffeine. Its reads take no lock. Its writes may wait for its maintenance, so the executor
 * makes them, and never an event loop.
 */
public final class AuthorizationCache {

    private static final int BYTES_PER_CHAR = 2;

    private final List<AsciiString> keyHeaders;
    private final boolean anyRequest;
    private final Executor executor;
    private final Cache<String, KnownAnswer> answers;

    /**
     * A cache without answers.
     *
     * @param executor puts answers in place, and evicts others
     */
    public AuthorizationCache(AuthorizationCacheProperties properties, LongSupplier nanoClock, Executor executor) {
        this.keyHeaders =
                properties.keyHeaders().stream().map(AsciiString::cached).toList();
        this.anyRequest = properties.anyRequest();
        this.executor = executor;
        this.answers = Caffeine.newBuilder()
                .maximumWeight(properties.memory().toBytes())
                .weigher((String key, KnownAnswer answer) -> BYTES_PER_CHAR * key.length() + answer.bytes())
                .expireAfterWrite(properties.maxAge())
                .ticker(nanoClock::getAsLong)
                .executor(executor)
                .build();
    }

    /**
     * The key of a request; null: it has none, and the authorizer must be asked.
     *
     * @param request all else by which the authorizer may decide
     */
    public @Nullable String key(HttpHeaders received, Supplier<List<String>> request) {
        StringBuilder key = new StringBuilder();
        boolean hasAny = false;
        for (AsciiString name : keyHeaders) {
            List<String> values = received.getAll(name);
            hasAny |= !values.isEmpty();
            key.append(values.size()).append(' ');
            values.forEach(value -> append(value, key));
        }
        if (!hasAny) {
            return null;
        }
        if (!anyRequest) {
            request.get().forEach(part -> append(part, key));
        }
        return key.toString();
    }

    /** With its length: no value can look like two. */
    private static void append(String value, StringBuilder key) {
        key.append(value.length()).append(':').append(value);
    }

    /** The answer to an earlier request with the key; null: there is none that may be used. */
    public @Nullable KnownAnswer find(String key) {
        return answers.getIfPresent(key);
    }

    /**
     * Keeps an answer, if it may serve further requests.
     *
     * @param answer the head as the authorizer has sent it
     * @param known what is kept of it
     */
    public void put(String key, HttpHeaders answer, KnownAnswer known) {
        if (mayServe(known.status(), answer)) {
            executor.execute(() -> answers.put(key, known));
        }
    }

    private static boolean mayServe(int status, HttpHeaders answer) {
        boolean isFinal = AuthorizationRule.verdict(status) == AuthorizationRule.Verdict.ALLOWS
                || status == HttpResponseStatus.UNAUTHORIZED.code()
                || status == HttpResponseStatus.FORBIDDEN.code();
        return isFinal
                && !answer.contains(HttpHeaderNames.SET_COOKIE)
                && answer.getAll(HttpHeaderNames.CACHE_CONTROL).stream()
                        .noneMatch(value -> value.toLowerCase(Locale.ROOT).contains("no-store"));
    }
}
