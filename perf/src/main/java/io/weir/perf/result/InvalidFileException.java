package io.weir.perf.result;

/**
 * A raw file has invalid content. The message names the file, the line, the value, and the expected value.
 */
public final class InvalidFileException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public InvalidFileException(String message) {
        super(message);
    }
}
