package io.weir.edge;

/** A request target that cannot be matched or passed on. The caller sees the message. */
public final class MalformedTargetException extends IllegalArgumentException {

    private static final long serialVersionUID = 1;
    private static final int SHOWN_MAX_CHARS = 64;

    MalformedTargetException(String part, CharSequence value, int until, String expected) {
        super(part + ": " + excerpt(value, until) + " (expected: " + expected + ")");
    }

    /**
     * Leaves out the stack trace: it costs more than the parsing, and a caller that sends such requests sends
     * many.
     */
    @Override
    public synchronized Throwable fillInStackTrace() {
        return this;
    }

    private static String excerpt(CharSequence value, int until) {
        int end = Math.min(value.length(), until);
        if (end <= SHOWN_MAX_CHARS) {
            return value.subSequence(0, end).toString();
        }
        return "…" + value.subSequence(end - SHOWN_MAX_CHARS, end);
    }
}
