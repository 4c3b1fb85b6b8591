package io.weir.authentication;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Tokens that were verified with the present keys of an issuer, so that a token that is sent again costs a
 * look-up, and no check of a signature. Only verified tokens are kept: a caller cannot fill the cache with
 * invented ones.
 *
 * <p>The tokens are in two generations. A token that is used is in the young one. A full young generation
 * becomes the old one, and the tokens that were not used since are forgotten; they are verified again.
 * Expired tokens are forgotten in the same way.
 */
// Concurrency: `generations` is the only atomic; a lost race to rotate changes nothing. Each thread that adds
// a token at the moment of a rotation can exceed the bound by one token.
final class TokenCache {

    private final int tokensPerGeneration;
    private final long charsPerGeneration;
    private final AtomicReference<Generations> generations = new AtomicReference<>(Generations.empty());

    private record Generations(
            ConcurrentMap<String, VerifiedToken> young, ConcurrentMap<String, VerifiedToken> old, AtomicLong chars) {

        static Generations empty() {
            return new Generations(new ConcurrentHashMap<>(), new ConcurrentHashMap<>(), new AtomicLong());
        }

        Generations rotated() {
            return new Generations(new ConcurrentHashMap<>(), young, new AtomicLong());
        }
    }

    /**
     * An empty cache.
     *
     * @param maxTokens tokens that are kept at most
     * @param maxChars characters of all kept tokens together, at most
     */
    TokenCache(int maxTokens, long maxChars) {
        this.tokensPerGeneration = maxTokens / 2;
        this.charsPerGeneration = maxChars / 2;
    }

    /** The token if it was verified, and has not expired since; null: it must be verified. */
    @Nullable
    VerifiedToken get(String token, long nowMillis) {
        Generations current = generations.get();
        VerifiedToken known = current.young.get(token);
        if (known == null) {
            known = current.old.get(token);
            if (known != null && !known.isExpired(nowMillis)) {
                put(token, known);
            }
        }
        return known == null || known.isExpired(nowMillis) ? null : known;
    }

    void put(String token, VerifiedToken verified) {
        Generations current = generations.get();
        if (current.young.putIfAbsent(token, verified) != null) {
            return;
        }
        long chars = current.chars.addAndGet(token.length());
        if (chars >= charsPerGeneration || current.young.size() >= tokensPerGeneration) {
            generations.compareAndSet(current, current.rotated());
        }
    }

    /** The number of kept tokens; one that is in both generations counts twice. */
    int size() {
        Generations current = generations.get();
        return current.young.size() + current.old.size();
    }
}
