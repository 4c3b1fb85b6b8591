package io.weir.authentication;

import com.nimbusds.jose.jwk.JWKSet;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A source whose fetches the test ends. */
final class TestKeySource implements KeySource {

    final List<CompletableFuture<FetchedKeys>> fetches = new ArrayList<>();

    @Override
    public CompletionStage<FetchedKeys> fetch() {
        CompletableFuture<FetchedKeys> fetch = new CompletableFuture<>();
        fetches.add(fetch);
        return fetch;
    }

    void answer(JWKSet keys, String... skipped) {
        fetches.getLast().complete(new FetchedKeys(keys, List.of(skipped)));
    }

    void fail() {
        fetches.getLast().completeExceptionally(new IOException("connection refused"));
    }
}
