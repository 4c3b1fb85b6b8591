package io.weir.reload;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
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
import org.jspecify.annotations.Nullable;

/** Hashes of the watched files, and the directories in which a change of a file is visible. */
final class WatchedFiles {

    /** Maximum length of a chain of symbolic links; the same as in the kernel. */
    private static final int MAX_LINKS = 40;

    private WatchedFiles() {}

    /** The hash of each file, or the reason why it cannot be read. Equal if nothing has changed. */
    static Map<Path, String> hashes(Set<Path> files) {
        Map<Path, String> hashes = new TreeMap<>();
        files.forEach(file -> hashes.put(file, hash(file)));
        return hashes;
    }

    private static String hash(Path file) {
        try (InputStream in = Files.newInputStream(file);
                DigestInputStream digest = new DigestInputStream(in, MessageDigest.getInstance("SHA-256"))) {
            digest.transferTo(OutputStream.nullOutputStream());
            return HexFormat.of().formatHex(digest.getMessageDigest().digest());
        } catch (NoSuchFileException e) {
            return "absent";
        } catch (IOException e) {
            return "unreadable: " + e.getClass().getSimpleName();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 unavailable, although every Java platform must provide it", e);
        }
    }

    /**
     * The directories in which a change of a file is visible: the file's own directory, and those of all
     * symbolic links on its path, to files or to directories. A Kubernetes ConfigMap changes by replacing a
     * link beside the file, {@code ..data}.
     */
    static Set<Path> directories(Set<Path> files) {
        Set<Path> directories = new LinkedHashSet<>();
        for (Path file : files) {
            Path path = file.toAbsolutePath();
            for (int links = 0; links < MAX_LINKS; links++) {
                Path next = resolveFirstLink(path, directories);
                if (next == null) {
                    break;
                }
                path = next;
            }
        }
        return directories;
    }

    /**
     * The path with its first link resolved, whose directory is added; null if the path contains no link.
     * Then the file's directory is added.
     */
    private static @Nullable Path resolveFirstLink(Path path, Set<Path> directories) {
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
                    // The link has just changed; the next comparison detects the change.
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
