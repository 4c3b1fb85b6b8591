package io.weir.lastgood;

/**
 * The answers of one route, as long as it keeps its backend and its key. Compared by identity, so an answer
 * of an earlier space is never found in a later one, whatever the names.
 */
public final class AnswerSpace {

    private final String route;
    private volatile boolean isClosed;

    /** The space of a route, without answers. */
    public AnswerSpace(String route) {
        this.route = route;
    }

    /** The route's id. */
    String route() {
        return route;
    }

    /** Whether the route has lost its answers, so that none is kept any more. */
    boolean isClosed() {
        return isClosed;
    }

    void close() {
        isClosed = true;
    }
}
