package io.weir.perf.result;

import java.nio.file.Path;

/**
 * A raw file has invalid content. The message names the file, the line, the value, and the expected value.
 */
public final class InvalidFileException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    InvalidFileException(Path file, String error) {
        super(file + ": " + error);
    }

    InvalidFileException(Path file, long line, String error) {
        super(file + ":" + line + ": " + error);
    }
}
