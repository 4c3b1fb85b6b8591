package io.weir.config.check;

import org.jspecify.annotations.Nullable;

/** A part of the configuration that a problem can name. */
interface Place {

    SourceLocation location();

    /** The property, in its original spelling. */
    String path();

    /** The configured value; null if there is none. */
    default @Nullable String text() {
        return null;
    }

    /** A problem of the configured value. */
    default ConfigurationProblem problem(String why) {
        return problem(text(), why);
    }

    /** A problem of this value, or of no value. */
    default ConfigurationProblem problem(@Nullable String value, String why) {
        return problem(value, why, null);
    }

    /** A problem with the most similar known name. */
    default ConfigurationProblem problem(@Nullable String value, String why, @Nullable String nearest) {
        return new ConfigurationProblem(location(), path(), value, why, nearest);
    }

    /** A configured value that differs from the expected one. */
    default ConfigurationProblem expected(String expected) {
        return expected(text(), expected);
    }

    /** A value that differs from the expected one. */
    default ConfigurationProblem expected(@Nullable String value, String expected) {
        return problem(value, "expected: " + expected);
    }
}
