package io.weir.slowcaller;

/** An upload that has been under way for so long that it may be ended, to free the memory of its body. */
public abstract class SlowUpload extends EndableCall {

    /** Bytes that are read but not passed on. From any thread. */
    protected abstract long heldBytes();

    /**
     * Chooses the upload, and ends it on its event loop.
     *
     * @return whether it ends; false: another thread has chosen it, or the event loop has stopped
     */
    protected abstract boolean choose();
}
