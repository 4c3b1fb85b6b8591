package io.weir.reload;

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
 * Reloads the configuration when its files have changed.
 *
 * <p>What counts is what the files hold. The kernel's events only say when to look: they can be lost, and network file systems send
 * none, so it looks now and then without any. What has changed is read when it has stood still for a moment, so that
 * of a file that is being written no half gets in, at least as long as the writer does not stop in the middle.
 */
// Concurrency: one daemon thread does everything; `closed` ends it.
public final class FileWatch implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(FileWatch.class);

    /** A writer that never stops does not keep the watch from looking for ever. */
    private static final int MAX_LOOKS = 50;

    private final LiveConfiguration configuration;
    private final Duration pollInterval;
    private final Duration quietPeriod;
    private final Thread thread;
    private final Map<Path, WatchKey> watched = new HashMap<>();
    private final @Nullable WatchService events;
    private volatile boolean closed;

    /**
     * A watch that has not begun.
     *
     * @param pollInterval time between two looks without an event
     * @param quietPeriod time for which a change has to stand
     */
    public FileWatch(LiveConfiguration configuration, Duration pollInterval, Duration quietPeriod) {
        this.configuration = configuration;
        this.pollInterval = pollInterval;
        this.quietPeriod = quietPeriod;
        this.events = open();
        this.thread = Thread.ofPlatform().daemon().name("weir-reload").unstarted(this::run);
    }

    private static @Nullable WatchService open() {
        try {
            return FileSystems.getDefault().newWatchService();
        } catch (IOException e) {
            log.warn(
                    "No events of the file system, so changes are only found by looking now and then: {}",
                    e.getMessage());
            return null;
        }
    }

    /** Begins. */
    public void start() {
        thread.start();
    }

    private void run() {
        try {
            Map<Path, String> seen = Map.of();
            try {
                Set<Path> files;
                boolean asWritten;
                do {
                    // In this order: what changes between the two is found to have changed.
                    files = configuration.watched();
                    seen = WatchedFiles.contents(files);
                    asWritten = configuration.isAsWritten();
                } while (!closed && !files.equals(configuration.watched()));
                // They may have changed between the start's reading and this.
                if (!asWritten) {
                    configuration.reload(Trigger.WATCH, "file watch");
                }
            } catch (RuntimeException e) {
                log.error("The configuration's files could not be looked at", e);
            }
            while (!closed) {
                awaitEvent();
                seen = look(seen);
            }
        } catch (InterruptedException | ClosedWatchServiceException e) {
            log.debug("No more watching", e);
        }
    }

    private Map<Path, String> look(Map<Path, String> seen) throws InterruptedException {
        try {
            Set<Path> files = configuration.watched();
            Map<Path, String> now = WatchedFiles.contents(files);
            if (now.equals(seen)) {
                return seen;
            }
            for (int looks = 0; looks < MAX_LOOKS; looks++) {
                TimeUnit.NANOSECONDS.sleep(quietPeriod.toNanos());
                Map<Path, String> again = WatchedFiles.contents(files);
                if (again.equals(now)) {
                    break;
                }
                now = again;
            }
            if (!now.equals(seen)) {
                configuration.reload(Trigger.WATCH, "file watch");
            }
            Set<Path> next = configuration.watched();
            if (files.equals(next)) {
                return now;
            }
            // Files were read that were not watched; since then they may have changed.
            Map<Path, String> contents = WatchedFiles.contents(next);
            if (!configuration.isAsRead()) {
                configuration.reload(Trigger.WATCH, "file watch");
            }
            return contents;
        } catch (RuntimeException e) {
            log.error("The configuration's files could not be looked at", e);
            return seen;
        }
    }

    private void awaitEvent() throws InterruptedException {
        WatchService service = events;
        if (service == null) {
            TimeUnit.NANOSECONDS.sleep(pollInterval.toNanos());
            return;
        }
        if (register(service, WatchedFiles.directories(tellingFiles()))) {
            // What has happened there before will not be told of.
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
     * The files of whose directories to be told. A directory where a file could be but is not, such as the one that the gateway was
     * started in, may be one in which something happens all the time, such as the writing of a log.
     */
    private Set<Path> tellingFiles() {
        Set<Path> telling = new LinkedHashSet<>(configuration.inForce().files());
        configuration.watched().stream().filter(Files::exists).forEach(telling::add);
        return telling;
    }

    /** Watches these directories, and no others; whether one of them is new. */
    private boolean register(WatchService service, Set<Path> directories) {
        watched.entrySet().removeIf(entry -> {
            boolean gone = !directories.contains(entry.getKey());
            if (gone) {
                entry.getValue().cancel();
            }
            return gone || !entry.getValue().isValid();
        });
        boolean added = false;
        for (Path directory : directories) {
            if (!watched.containsKey(directory)) {
                try {
                    watched.put(
                            directory,
                            directory.register(
                                    service,
                                    StandardWatchEventKinds.ENTRY_CREATE,
                                    StandardWatchEventKinds.ENTRY_MODIFY,
                                    StandardWatchEventKinds.ENTRY_DELETE));
                    added = true;
                } catch (IOException e) {
                    log.debug("{} cannot be watched; it is looked at now and then", directory, e);
                }
            }
        }
        return added;
    }

    /** Ends; a reload that is under way is completed. */
    @Override
    public void close() {
        closed = true;
        WatchService service = events;
        try {
            if (service == null) {
                thread.interrupt();
            } else {
                service.close();
            }
        } catch (IOException e) {
            log.debug("The watch could not be closed", e);
        }
    }
}
