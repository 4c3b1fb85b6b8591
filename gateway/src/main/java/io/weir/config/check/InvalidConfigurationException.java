package io.weir.config.check;

/** A start has read a configuration with problems, although the check before it found none. */
public final class InvalidConfigurationException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    InvalidConfigurationException(ValidationReport report) {
        super(report.toString());
    }
}
