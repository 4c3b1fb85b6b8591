package io.weir.authentication;

import java.util.concurrent.CompletionStage;

/** Fetches the set of keys of an issuer. */
@FunctionalInterface
interface KeySource {

    /** Begins a fetch. It ends in a bounded time, with the keys or with an exception. */
    CompletionStage<FetchedKeys> fetch();
}
