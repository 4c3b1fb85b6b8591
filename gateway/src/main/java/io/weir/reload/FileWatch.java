package io.weir.reload;

import io.weir.config.check.ConfigurationSnapshot;
import io.weir.reload.ConfigurationChange.Trigger;
import java.io.IOException;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reloads the configuration when the content of its files changes.
 *
 * <p>Events of the file system only trigger a comparison of the content. They can be lost, and network file
 * systems send none, so the watch also compares the content periodically. It reloads a change after the
 * content has been stable for the quiet period. So it does not load a partially written file, unless the
 * writer pauses for longer than that.
 */
// Concurrency: one daemon thread does everything.
public final class FileWatch implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(FileWatch.class);

    /** Limits the wait for a writer that never pauses. */
    private static final int MAX_COMPARISONS = 50;

    private final LiveConfiguration configuration;
    private final Duration pollInterval;
    private final Duration quietPeriod;
    private final Map<Path, WatchKey> registered = new HashMap<>();
    private final @Nullable WatchService watchService;
    private final WatchThread thread = new WatchThread("weir-reload", this::run);

    /**
     * A watch that has not started yet.
     *
     * @param pollInterval time between two comparisons without an event
     * @param quietPeriod time for which changed content must be stable before it is loaded
     */
    public FileWatch(LiveConfiguration configuration, Duration pollInterval, Duration quietPeriod) {
        this.configuration = configuration;
        this.pollInterval = pollInterval;
        this.quietPeriod = quietPeriod;
        this.watchService = open();
    }

    private static @Nullable WatchService open() {
        try {
            return FileSystems.getDefault().newWatchService();
        } catch (IOException e) {
            log.warn("File system events unavailable ({}); polling the configuration's files instead", e.getMessage());
            return null;
        }
    }

    /** Starts the watch. */
    public void start() {
        thread.start();
    }

    private void run() throws InterruptedException {
        try {
            // The files may have changed after startup loaded them.
            Compared known = reloadIfChanged(Compared.NOTHING);
            while (!thread.isClosed()) {
                awaitEvent();
                known = reloadIfChanged(known);
            }
        } catch (ClosedWatchServiceException e) {
            log.debug("File watch stopped", e);
        }
    }

    private Compared reloadIfChanged(Compared known) throws InterruptedException {
        try {
            Set<Path> files = configuration.watchedFiles();
            Map<Path, String> current = WatchedFiles.hashes(files);
            // In this order, a reload that began before the hashes is detected.
            boolean isKnown = configuration.lastRead() == known.read();
            if (isKnown && current.equals(known.hashes())) {
                return known;
            }
            for (int comparisons = 0; comparisons < MAX_COMPARISONS; comparisons++) {
                if (!thread.rest(quietPeriod)) {
                    return known;
                }
                Map<Path, String> later = WatchedFiles.hashes(files);
                if (later.equals(current)) {
                    break;
                }
                current = later;
            }
            if (isKnown && current.equals(known.hashes())) {
                return known;
            }
            ConfigurationSnapshot read = isKnown ? null : rereadUnchanged();
            if (read == null) {
                configuration.reload(Trigger.WATCH, "file watch");
                return Compared.NOTHING;
            }
            // A file that changed while it was read is compared again at the event of that change.
            return WatchedFiles.hashes(configuration.watchedFiles()).equals(current)
                    ? new Compared(current, read)
                    : Compared.NOTHING;
        } catch (RuntimeException e) {
            log.error("Configuration files could not be checked for changes", e);
            return known;
        }
    }

    /**
     * Reads the files again; null if their content has changed. Null also if they cannot be read and no
     * rejection is in force: the reload then reports one. A later failure is only logged, so that files which
     * stay unreadable are not rejected at each comparison.
     */
    private @Nullable ConfigurationSnapshot rereadUnchanged() {
        try {
            return configuration.rereadUnchanged();
        } catch (RuntimeException e) {
            if (configuration.history().lastRejected() != null) {
                throw e;
            }
            return null;
        }
    }

    /**
     * Content of the files, and what was read from it. After a reload the content is not known: it may have
     * changed while the reload read it, and back. So the first comparison after a reload reads the files
     * again, and only the following ones compare hashes.
     */
    private record Compared(
            Map<Path, String> hashes, @Nullable ConfigurationSnapshot read) {
        static final Compared NOTHING = new Compared(Map.of(), null);
    }

    private void awaitEvent() throws InterruptedException {
        WatchService service = watchService;
        if (service == null) {
            thread.rest(pollInterval);
            return;
        }
        if (register(service, WatchedFiles.directories(filesToRegister()))) {
            // Changes before the registration produce no event, so compare now.
            return;
        }
        WatchKey key = service.poll(pollInterval.toNanos(), TimeUnit.NANOSECONDS);
        while (key != null) {
            key.pollEvents();
            key.reset();
            key = service.poll();
        }
    }

    /**
     * The files whose directories are registered for events. Absent files are excluded: their directories,
     * such as the working directory, may change constantly, for example because of a log file.
     */
    private Set<Path> filesToRegister() {
        Set<Path> existing = new LinkedHashSet<>(configuration.inForce().files());
        configuration.watchedFiles().stream().filter(Files::exists).forEach(existing::add);
        return existing;
    }

    /** Registers exactly these directories. Returns whether a new one was registered. */
    private boolean register(WatchService service, Set<Path> directories) {
        registered.entrySet().removeIf(entry -> {
            boolean gone = !directories.contains(entry.getKey());
            if (gone) {
                entry.getValue().cancel();
            }
            return gone || !entry.getValue().isValid();
        });
        boolean added = false;
        for (Path directory : directories) {
            if (!registered.containsKey(directory)) {
                try {
                    registered.put(
                            directory,
                            directory.register(
                                    service,
                                    StandardWatchEventKinds.ENTRY_CREATE,
                                    StandardWatchEventKinds.ENTRY_MODIFY,
                                    StandardWatchEventKinds.ENTRY_DELETE));
                    added = true;
                } catch (IOException e) {
                    log.debug("No file system events for {}; polling only", directory, e);
                }
            }
        }
        return added;
    }

    /** Stops the watch. A reload in progress is completed. */
    @Override
    public void close() {
        thread.end();
        WatchService service = watchService;
        if (service != null) {
            try {
                service.close();
            } catch (IOException e) {
                log.debug("File watch could not be closed", e);
            }
        }
        thread.close();
    }
}
