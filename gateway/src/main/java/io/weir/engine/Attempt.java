package io.weir.engine;

/** One try of an exchange at its backend. Everything is called on the exchange's event loop. */
interface Attempt {

    /** Asks for a connection; what comes of it is told to the exchange. */
    void start();

    /**
     * Ends it, whatever it is at: nothing more is told to the exchange, and its connection is closed, or given back if
     * the answer was complete.
     */
    void cancel();

    /** Whether there is a connection, so that the backend may have seen something of the request. */
    boolean connected();

    /** The caller's time in it up to a moment: spent on bringing the request's body, and on taking the answer's. */
    long callerNanos(long now);

    /** Whether the caller is waited for, to bring more of the request's body. */
    boolean waitsForUpload();

    /** Since when nothing has moved, in either direction. */
    long lastMovedNanos();

    /** Bytes of the answer's body that have come in. */
    long answerBytes();

    /** Whether the caller holds the answer up. */
    boolean heldUpByCaller();
}
