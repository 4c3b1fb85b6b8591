package io.weir.perf.report;

import java.nio.file.Path;

/** A raw file that is not what it should be: which, where, what stands there, what was expected. */
final class WrongFile extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Of a file as a whole. */
    WrongFile(Path file, String what) {
        super(file + ": " + what);
    }

    /** Of a line of it, counted from 1. */
    WrongFile(Path file, long line, String what) {
        super(file + ":" + line + ": " + what);
    }
}
