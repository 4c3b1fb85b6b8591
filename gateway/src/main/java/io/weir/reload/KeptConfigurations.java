package io.weir.reload;

import io.weir.config.check.ConfigurationHash;
import io.weir.config.check.ConfigurationSnapshot;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The files of the last configurations that were in force, for {@code weir rollback}.
 *
 * <p>Each configuration has a directory {@code NUMBER-HASH}; a higher number is later. In it, {@code files}
 * has a line for each file: its name in the directory, a blank, and its absolute path. {@code -} in place of
 * the name means that the gateway searched the file and it did not exist. A directory is written under
 * another name first, so one with that name is complete.
 *
 * <p>The disk is not needed to serve requests, so a failure is logged, and the configuration stays in force.
 */
// Concurrency: guarded by its monitor, on the watch's thread and worker threads.
public final class KeptConfigurations {

    /** Keeps nothing. */
    public static final KeptConfigurations NONE = new KeptConfigurations(null);

    /** Maximum number of configurations. */
    static final int CAPACITY = 10;

    /** The list of the files of a configuration. */
    static final String LIST = "files";

    private static final Logger log = LoggerFactory.getLogger(KeptConfigurations.class);

    private static final Pattern ENTRY = Pattern.compile("[0-9]{6,}-[0-9a-f]{12}");
    private static final Pattern FILE = Pattern.compile(".*\\.(?:ya?ml|properties|xml)");
    private static final String UNFINISHED = ".unfinished";
    private static final String ABSENT = "-";

    private final @Nullable Path directory;

    private KeptConfigurations(@Nullable Path directory) {
        this.directory = directory;
    }

    /** Keeps configurations in a directory, which is created if it does not exist. */
    public static KeptConfigurations in(Path directory) {
        return new KeptConfigurations(directory.toAbsolutePath());
    }

    /**
     * Keeps the files of a configuration, unless they are the same as those that were kept last.
     *
     * @param isCurrent whether the files still contain this configuration; asked after they were read, so
     *     that no file of a later one is kept under its hash
     */
    synchronized void keep(ConfigurationSnapshot configuration, ConfigurationHash hash, BooleanSupplier isCurrent) {
        if (directory == null) {
            return;
        }
        try {
            keep(directory, configuration, hash, isCurrent);
        } catch (IOException | RuntimeException e) {
            log.error("Configuration {} could not be kept for a rollback in {}: {}", hash, directory, e.toString());
        }
    }

    private static void keep(
            Path directory, ConfigurationSnapshot configuration, ConfigurationHash hash, BooleanSupplier isCurrent)
            throws IOException {
        Set<Path> paths = new TreeSet<>();
        configuration.files().forEach(file -> paths.add(file.toAbsolutePath().normalize()));
        configuration
                .searchedFiles()
                .forEach(file -> paths.add(file.toAbsolutePath().normalize()));
        Map<String, byte[]> contents = new TreeMap<>();
        StringBuilder list = new StringBuilder();
        for (Path path : paths) {
            String name = ABSENT;
            if (Files.isRegularFile(path)) {
                name = Integer.toString(contents.size());
                contents.put(name, Files.readAllBytes(path));
            }
            // The gateway also searches directories. One that appears later is no part of a configuration.
            if (!name.equals(ABSENT) || FILE.matcher(path.toString()).matches()) {
                list.append(name).append(' ').append(path).append('\n');
            }
        }
        contents.put(LIST, list.toString().getBytes(StandardCharsets.UTF_8));
        if (!isCurrent.getAsBoolean()) {
            log.info("Configuration {} is not kept for a rollback: its files have changed since", hash);
            return;
        }
        Files.createDirectories(directory, attributes(directory, "rwx------"));
        List<Path> entries = entries(directory);
        if (!entries.isEmpty() && hasContents(entries.getLast(), contents)) {
            return;
        }
        long number = entries.isEmpty() ? 1 : number(entries.getLast()) + 1;
        write(directory, String.format("%06d-%s", number, hash), contents);
        for (Path old : entries.subList(0, Math.max(0, entries.size() + 1 - CAPACITY))) {
            delete(old);
        }
    }

    private static void write(Path directory, String name, Map<String, byte[]> contents) throws IOException {
        Path unfinished = directory.resolve(UNFINISHED);
        if (Files.exists(unfinished)) {
            delete(unfinished);
        }
        Files.createDirectory(unfinished, attributes(directory, "rwx------"));
        for (Map.Entry<String, byte[]> content : contents.entrySet()) {
            Path file = Files.createFile(unfinished.resolve(content.getKey()), attributes(directory, "rw-------"));
            Files.write(file, content.getValue());
        }
        Files.move(unfinished, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }

    /** The permissions of a new file; none where the file system has none. */
    private static FileAttribute<?>[] attributes(Path directory, String permissions) {
        return directory.getFileSystem().supportedFileAttributeViews().contains("posix")
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))
                }
                : new FileAttribute<?>[0];
    }

    /** The kept configurations, the oldest first. */
    private static List<Path> entries(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            List<Path> entries = new ArrayList<>(all.filter(
                            path -> ENTRY.matcher(path.getFileName().toString()).matches())
                    .toList());
            entries.sort((one, other) -> Long.compare(number(one), number(other)));
            return entries;
        }
    }

    private static long number(Path entry) {
        String name = entry.getFileName().toString();
        return Long.parseLong(name.substring(0, name.indexOf('-')));
    }

    private static boolean hasContents(Path entry, Map<String, byte[]> contents) throws IOException {
        for (Map.Entry<String, byte[]> content : contents.entrySet()) {
            Path file = entry.resolve(content.getKey());
            if (!Files.isRegularFile(file) || !Arrays.equals(Files.readAllBytes(file), content.getValue())) {
                return false;
            }
        }
        return true;
    }

    private static void delete(Path entry) throws IOException {
        try (Stream<Path> files = Files.list(entry)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(entry);
    }
}
