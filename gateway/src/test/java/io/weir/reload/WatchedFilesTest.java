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
    void tellContentsApartAndNothingElse() throws IOException {
        Map<Path, String> before = contents(file);

        Files.setLastModifiedTime(file, FileTime.fromMillis(0));
        assertThat(contents(file)).isEqualTo(before);

        Files.writeString(file, "weir: { }");
        assertThat(contents(file)).isNotEqualTo(before);

        Files.writeString(file, "weir: {}");
        assertThat(contents(file)).isEqualTo(before);
    }

    @Test
    void tellWhatIsAbsentAndWhatCannotBeRead() throws IOException {
        Files.delete(file);
        assertThat(contents(file)).containsValue("absent");

        Files.createDirectory(file);
        assertThat(contents(file).get(file)).startsWith("unreadable");
    }

    @Test
    void seeThroughALinkThatIsPointedElsewhere() throws IOException {
        Path other = Files.writeString(directory.resolve("other.yml"), "weir: { routes: {} }");
        Path link = Files.createSymbolicLink(directory.resolve("link.yml"), file);
        Map<Path, String> before = contents(link);

        Files.delete(link);
        Files.createSymbolicLink(link, other);

        assertThat(contents(link)).isNotEqualTo(before);
    }

    @Test
    void changeInTheFilesOwnDirectory() {
        assertThat(WatchedFiles.directories(Set.of(file))).containsExactly(directory);
    }

    @Test
    void changeInTheDirectoryOfEveryLinkOnTheWay() throws IOException {
        Path mount = Files.createDirectories(directory.resolve("etc/weir"));
        Path data = Files.createDirectories(directory.resolve("data/..2026_1"));
        Path target = Files.writeString(data.resolve("gateway.yml"), "weir: {}");
        Files.createSymbolicLink(mount.resolve("..data"), data);
        Path link = Files.createSymbolicLink(mount.resolve("gateway.yml"), Path.of("..data", "gateway.yml"));

        // The file's link, the directory's link, and what both lead to.
        assertThat(WatchedFiles.directories(Set.of(link))).containsExactlyInAnyOrder(mount, data);
        assertThat(link.toRealPath()).isEqualTo(target);
    }

    @Test
    void endWhereLinksLeadInACircle() throws IOException {
        Path one = directory.resolve("one");
        Path two = directory.resolve("two");
        Files.createSymbolicLink(one, two);
        Files.createSymbolicLink(two, one);

        assertThat(WatchedFiles.directories(Set.of(one))).containsExactly(directory);
        assertThat(contents(one).get(one)).startsWith("unreadable");
    }

    @Test
    void changeWhereALinkLeadsNowhere() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("link"), directory.resolve("gone/gateway.yml"));

        assertThat(WatchedFiles.directories(Set.of(link)))
                .containsExactlyInAnyOrder(directory, directory.resolve("gone"));
    }
}
