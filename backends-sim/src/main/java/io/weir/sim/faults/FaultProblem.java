package io.weir.sim.faults;

/** A document that cannot be taken: the field, what it said, and what was expected. */
final class FaultProblem extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String field;

    FaultProblem(String field, Object value, String expected) {
        super(field + ": " + value + " (expected: " + expected + ")");
        this.field = field;
    }

    /** Its path in the document, such as {@code script[0].probability}. */
    String field() {
        return field;
    }
}
