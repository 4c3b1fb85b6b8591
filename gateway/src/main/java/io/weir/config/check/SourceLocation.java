package io.weir.config.check;

import java.io.File;
import java.io.IOException;
import java.util.Comparator;
import org.springframework.boot.origin.OriginTrackedResource;
import org.springframework.boot.origin.TextResourceOrigin;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;

/**
 * The location of a property: a line of a file, or another source.
 *
 * @param source the file in its configured spelling, {@code classpath:} and a path, or the name of another
 *     source
 * @param line the line in the file, starting at 1; 0 for the whole file or another source
 * @param isFile whether the source is a file
 */
public record SourceLocation(String source, int line, boolean isFile) implements Comparable<SourceLocation> {

    private static final Comparator<SourceLocation> ORDER = Comparator.comparing(
                    (SourceLocation location) -> !location.isFile())
            .thenComparing(SourceLocation::source)
            .thenComparingInt(SourceLocation::line);

    /** The source of values that an operator has set. */
    static final String OPERATOR = "operator";

    static SourceLocation inFile(String file, int line) {
        return new SourceLocation(file, line, true);
    }

    /** A location outside files, such as an environment variable. */
    static SourceLocation outsideFiles(String source) {
        return new SourceLocation(source, 0, false);
    }

    /** The name of a file in reports. */
    static String displayName(Resource resource) {
        Resource tracked = resource instanceof OriginTrackedResource of ? of.getResource() : resource;
        Resource plain = tracked instanceof LoadedFile text ? text.file() : tracked;
        if (plain instanceof ClassPathResource classPath) {
            return "classpath:" + classPath.getPath();
        }
        try {
            return plain.isFile() ? withoutDot(plain.getFile()) : plain.getDescription();
        } catch (IOException e) {
            return plain.getDescription();
        }
    }

    /** The line of a value, starting at 1; 0 if unknown. */
    static int lineOf(TextResourceOrigin origin) {
        TextResourceOrigin.Location location = origin.getLocation();
        return location == null ? 0 : location.getLine() + 1;
    }

    private static String withoutDot(File file) {
        String path = file.getPath();
        return path.startsWith("./") ? path.substring(2) : path;
    }

    /** Whether an operator has set the value. */
    boolean isOfOperator() {
        return source.equals(OPERATOR);
    }

    @Override
    public int compareTo(SourceLocation other) {
        return ORDER.compare(this, other);
    }

    /** {@code gateway.yml:12}. */
    @Override
    public String toString() {
        return line == 0 ? source : source + ':' + line;
    }
}
