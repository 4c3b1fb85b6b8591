package io.weir.reload;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** What files hold, and in which directories to look for changes of that. */
final class WatchedFiles {

    /** As many links one after the other are followed, as the kernel does. */
    private static final int MAX_LINKS = 40;

    private WatchedFiles() {}

    /** What each file holds: its hash, or why it cannot be read. Equal as long as nothing has changed. */
    static Map<Path, String> contents(Set<Path> files) {
        Map<Path, String> contents = new TreeMap<>();
        files.forEach(file -> contents.put(file, content(file)));
        return contents;
    }

    private static String content(Path file) {
        try (InputStream in = Files.newInputStream(file);
                DigestInputStream digest = new DigestInputStream(in, MessageDigest.getInstance("SHA-256"))) {
            digest.transferTo(java.io.OutputStream.nullOutputStream());
            return HexFormat.of().formatHex(digest.getMessageDigest().digest());
        } catch (NoSuchFileException e) {
            return "absent";
        } catch (IOException e) {
            return "unreadable: " + e.getClass().getSimpleName();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /**
     * The directories in which something happens when what a file's name leads to changes: its own, and those of all links on the way,
     * be they links to files or to directories. A Kubernetes config map changes by a link beside the file, {@code ..data}.
     */
    static Set<Path> directories(Set<Path> files) {
        Set<Path> directories = new LinkedHashSet<>();
        for (Path file : files) {
            Path at = file.toAbsolutePath();
            for (int links = 0; links < MAX_LINKS; links++) {
                Path next = firstLink(at, directories);
                if (next == null) {
                    break;
                }
                at = next;
            }
        }
        return directories;
    }

    /** Where the path leads by its first link, whose directory is added; null if there is none: then the file's is. */
    private static @org.jspecify.annotations.Nullable Path firstLink(Path path, Set<Path> directories) {
        Path walked = path.getRoot();
        for (int i = 0; i < path.getNameCount(); i++) {
            Path parent = walked;
            walked = walked.resolve(path.getName(i));
            if (Files.isSymbolicLink(walked)) {
                directories.add(parent);
                try {
                    Path target = parent.resolve(Files.readSymbolicLink(walked));
                    Path rest = i + 1 < path.getNameCount() ? path.subpath(i + 1, path.getNameCount()) : Path.of("");
                    return target.resolve(rest).normalize();
                } catch (IOException e) {
                    // It has changed in this moment; whoever looks again sees it.
                    return null;
                }
            }
        }
        Path parent = path.getParent();
        if (parent != null) {
            directories.add(parent);
        }
        return null;
    }
}
