package io.weir.sim.faults;

/** A document that is refused: names the field, its value and the expectation. */
final class InvalidFaultException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String field;

    InvalidFaultException(String field, Object value, String expected) {
        super(field + ": " + value + " (expected: " + expected + ")");
        this.field = field;
    }

    /** The field's path in the document, such as {@code script[0].probability}. */
    String field() {
        return field;
    }
}
