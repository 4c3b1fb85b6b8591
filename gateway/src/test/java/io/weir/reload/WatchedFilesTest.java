package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WatchedFilesTest {

    private Path directory;
    private Path file;

    @BeforeEach
    void create(@TempDir Path temporary) throws IOException {
        directory = temporary.toRealPath();
        file = Files.writeString(directory.resolve("gateway.yml"), "weir: {}");
    }

    private static Map<Path, String> contents(Path file) {
        return WatchedFiles.hashes(Set.of(file));
    }

    @Test
    void haveDifferentHashesForDifferentContentOnly() throws IOException {
        Map<Path, String> before = contents(file);

        Files.setLastModifiedTime(file, FileTime.fromMillis(0));
        assertThat(contents(file)).isEqualTo(before);

        Files.writeString(file, "weir: { }");
        assertThat(contents(file)).isNotEqualTo(before);

        Files.writeString(file, "weir: {}");
        assertThat(contents(file)).isEqualTo(before);
    }

    @Test
    void distinguishAbsentAndUnreadableFiles() throws IOException {
        Files.delete(file);
        assertThat(contents(file)).containsValue("absent");

        Files.createDirectory(file);
        assertThat(contents(file).get(file)).startsWith("unreadable");
    }

    @Test
    void hashTheTargetOfAChangedLink() throws IOException {
        Path other = Files.writeString(directory.resolve("other.yml"), "weir: { routes: {} }");
        Path link = Files.createSymbolicLink(directory.resolve("link.yml"), file);
        Map<Path, String> before = contents(link);

        Files.delete(link);
        Files.createSymbolicLink(link, other);

        assertThat(contents(link)).isNotEqualTo(before);
    }

    @Test
    void watchTheFilesOwnDirectory() {
        assertThat(WatchedFiles.directories(Set.of(file))).containsExactly(directory);
    }

    @Test
    void watchTheDirectoryOfEveryLink() throws IOException {
        Path mount = Files.createDirectories(directory.resolve("etc/weir"));
        Path data = Files.createDirectories(directory.resolve("data/..2026_1"));
        Path target = Files.writeString(data.resolve("gateway.yml"), "weir: {}");
        Files.createSymbolicLink(mount.resolve("..data"), data);
        Path link = Files.createSymbolicLink(mount.resolve("gateway.yml"), Path.of("..data", "gateway.yml"));

        // The directories of the file's link, of the directory's link, and of the final target.
        assertThat(WatchedFiles.directories(Set.of(link))).containsExactlyInAnyOrder(mount, data);
        assertThat(link.toRealPath()).isEqualTo(target);
    }

    @Test
    void stopAtACycleOfLinks() throws IOException {
        Path one = directory.resolve("one");
        Path two = directory.resolve("two");
        Files.createSymbolicLink(one, two);
        Files.createSymbolicLink(two, one);

        assertThat(WatchedFiles.directories(Set.of(one))).containsExactly(directory);
        assertThat(contents(one).get(one)).startsWith("unreadable");
    }

    @Test
    void watchTheTargetDirectoryOfABrokenLink() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("link"), directory.resolve("gone/gateway.yml"));

        assertThat(WatchedFiles.directories(Set.of(link)))
                .containsExactlyInAnyOrder(directory, directory.resolve("gone"));
    }
}
