package io.weir.authentication;

/**
 * A token cannot be judged before the keys of its issuer are fetched.
 *
 * @param fetch the fetch that is under way
 * @param otherwise the refusal if the request cannot wait, or if the keys remain unknown
 */
public record KeysAwaited(KeyFetch fetch, AuthenticationRefusal otherwise) implements TokenVerdict {

    /**
     * Runs a task once after the fetch, at once if it has ended, on any thread.
     *
     * @return false if too many tasks wait; then the task never runs
     */
    public boolean whenFetched(Runnable task) {
        return fetch.whenEnded(task);
    }
}
