package io.weir.testing;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The files of the repository that are written by hand. */
public final class SourceTree {

    /** Other processes create and delete files in these folders at any time. */
    private static final Set<String> GENERATED = Set.of("target", ".run");

    private static final Path RESULTS = Path.of("perf/results");

    private SourceTree() {}

    /** The files in a folder, without generated ones and results; or the file itself. */
    public static List<Path> files(Path root) throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                return GENERATED.contains(folder.getFileName().toString()) || folder.endsWith(RESULTS)
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                found.add(file);
                return FileVisitResult.CONTINUE;
            }
        });
        return found;
    }
}
