package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.ExtensionBuild;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExtensionJarsTest {

    @TempDir
    private static Path build;

    @TempDir
    private Path directory;

    private Path installed;
    private Path jar;

    @BeforeAll
    static void buildsAnExtension() throws IOException {
        Path sources = Files.createDirectories(build.resolve("sources/java/org/acme"));
        Files.createDirectories(build.resolve("sources/resources"));
        Files.writeString(sources.resolve("Setup.java"), "package org.acme; class Setup { class Part {} }");
        ExtensionBuild.jar(build.resolve("sources"), build.resolve("acme.jar"));
    }

    @BeforeEach
    void installsIt() throws IOException {
        installed = Files.createDirectory(directory.resolve("extensions"));
        jar = Files.copy(build.resolve("acme.jar"), installed.resolve("acme.jar"));
    }

    private ExtensionJars loaded(String path) throws IOException {
        try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, null)) {
            return new ExtensionJars(path, loader);
        }
    }

    @Test
    void isEmptyWithoutJars() throws IOException {
        Path empty = Files.createDirectory(directory.resolve("empty"));
        Files.writeString(empty.resolve("README"), "no jar");

        assertThat(loaded(empty + "," + directory.resolve("missing") + ",BOOT-INF/lib/,")
                        .isEmpty())
                .isTrue();
    }

    @Test
    void readsDirectoriesAndJarsOfTheLoaderPath() throws IOException {
        for (String path :
                new String[] {installed.toString(), installed + "/", installed + "/*", "file:" + jar, "lib, " + jar}) {
            ExtensionJars jars = loaded(path);

            assertThat(jars.isEmpty()).as(path).isFalse();
            assertThat(jars.problems()).as(path).isEmpty();
        }
    }

    @Test
    void reportsAJarThatIsNotOnTheClassPath() throws IOException {
        Path other = Files.copy(jar, directory.resolve("other.jar"));

        assertThat(loaded(other.toString()).problems())
                .singleElement()
                .hasToString(
                        other + ": not on the class path (expected: a start of the gateway's own jar by java -jar, "
                                + "or the directory in -cp)");
    }

    @Test
    void reportsAFileThatIsNoJar() throws IOException {
        Path other = Files.writeString(directory.resolve("other.jar"), "text");

        assertThat(loaded(other.toString()).problems())
                .singleElement()
                .asString()
                .startsWith(other + ": cannot be loaded: not a jar: ");
    }

    @Test
    void attributesAFailureToTheJarWithAClassThatItNames() throws IOException {
        ExtensionJars jars = loaded(jar.toString());

        assertThat(jars.problem(new IllegalStateException(
                                "Failed to introspect Class [org.acme.Setup$Part] from ClassLoader [x.Loader@1]",
                                new NoClassDefFoundError("org/redis/Client")))
                        .toString())
                .isEqualTo(jar + ": cannot be loaded: needs the class org.redis.Client, which is in no jar");
        assertThat(jars.fileOf(new IllegalStateException("bean of org.acme.Setup.part() failed")))
                .contains(jar);
    }

    @Test
    void attributesAFailureByItsStackTraceIfNoMessageNamesAClass() throws IOException {
        IllegalStateException failure = new IllegalStateException("port: -1");
        failure.setStackTrace(new StackTraceElement[] {
            new StackTraceElement("java.util.List", "of", "List.java", 1),
            new StackTraceElement("org.acme.Setup", "part", "Setup.java", 1)
        });

        assertThat(loaded(jar.toString()).problem(new RuntimeException("creation failed", failure)))
                .hasToString(jar + ": cannot be loaded: port: -1");
    }

    @Test
    void namesAllJarsIfAFailureNamesNone() throws IOException {
        ExtensionJars jars = loaded(jar.toString());
        IllegalStateException failure = new IllegalStateException("io.weir.Other failed");

        assertThat(jars.fileOf(failure)).isEmpty();
        assertThat(jars.problem(failure))
                .hasToString("extensions: cannot be loaded: io.weir.Other failed (one of acme.jar)");
    }
}
