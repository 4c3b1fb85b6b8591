package io.weir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The packaged jar: its libraries, their notices, and its version. */
class JarIT {

    private static final Path JAR = Path.of("target", "weir-gateway.jar");
    private static final String LIBRARIES = "BOOT-INF/lib/";
    private static final Pattern VERSION = Pattern.compile("-\\d[\\w.]*(?=-|\\.jar$)");
    private static final Pattern NATIVE = Pattern.compile(".*-(linux|osx|windows)-.*");
    /** A tenth above the size when this test was written. */
    private static final long SIZE_MAX_BYTES = 48_900_000;

    /** The names of the libraries without their versions. */
    private static List<String> libraries() throws IOException {
        try (JarFile jar = new JarFile(JAR.toFile())) {
            return jar.stream()
                    .map(ZipEntry::getName)
                    .filter(name -> name.startsWith(LIBRARIES) && name.endsWith(".jar"))
                    .map(name ->
                            VERSION.matcher(name.substring(LIBRARIES.length())).replaceFirst(""))
                    .toList();
        }
    }

    /** Otherwise, Java warns in four lines before the log's first. */
    @Test
    void mayLoadNativeLibraries() throws IOException {
        try (JarFile jar = new JarFile(JAR.toFile())) {
            assertThat(jar.getManifest().getMainAttributes().getValue("Enable-Native-Access"))
                    .isEqualTo("ALL-UNNAMED");
        }
    }

    @Test
    void containsTheNativeTransportOfBothLinuxProcessors() throws IOException {
        assertThat(libraries())
                .contains(
                        "netty-transport-native-epoll-linux-x86_64.jar",
                        "netty-transport-native-epoll-linux-aarch_64.jar");
    }

    @Test
    void containsNoNativeLibraryThatTheGatewayDoesNotLoad() throws IOException {
        assertThat(libraries())
                .filteredOn(NATIVE.asMatchPredicate())
                .containsExactlyInAnyOrder(
                        "netty-transport-native-epoll-linux-x86_64.jar",
                        "netty-transport-native-epoll-linux-aarch_64.jar",
                        "netty-tcnative-boringssl-static-linux-x86_64.jar",
                        "netty-tcnative-boringssl-static-linux-aarch_64.jar",
                        // Reactor Netty's, for a Mac's resolver.
                        "netty-resolver-dns-native-macos-osx-x86_64.jar");
    }

    @Test
    void namesEachLibraryInItsNoticeAndNoOther() throws IOException {
        List<Pattern> named;
        try (JarFile jar = new JarFile(JAR.toFile())) {
            assertThat(jar.getEntry("META-INF/LICENSE")).isNotNull();
            String notice = new String(
                    jar.getInputStream(jar.getEntry("META-INF/NOTICE")).readAllBytes(), StandardCharsets.UTF_8);
            // The files of an entry: the text in brackets, in a line that is not indented.
            named = Pattern.compile("^\\S[^(]*\\(([^)]*\\.jar)\\)", Pattern.MULTILINE)
                    .matcher(notice)
                    .results()
                    .flatMap(entry -> Stream.of(entry.group(1).split(",\\s+")))
                    .filter(file -> !file.equals("weir-gateway.jar"))
                    .map(file -> Pattern.compile(file.replace(".", "\\.").replace("*", ".*")))
                    .toList();
        }
        List<String> libraries = libraries();

        assertThat(libraries)
                .allSatisfy(library ->
                        assertThat(named).anyMatch(file -> file.matcher(library).matches()));
        assertThat(named)
                .allSatisfy(file -> assertThat(libraries)
                        .anyMatch(library -> file.matcher(library).matches()));
    }

    @Test
    @Tag("full")
    void statesTheVersionOfThePom() throws Exception {
        Matcher pom = Pattern.compile("<version>([^<]+)</version>").matcher(Files.readString(Path.of("..", "pom.xml")));
        assertThat(pom.find()).isTrue();
        try (JarFile jar = new JarFile(JAR.toFile())) {
            assertThat(jar.getManifest().getMainAttributes().getValue("Implementation-Version"))
                    .isEqualTo(pom.group(1));
        }
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-jar",
                        JAR.toString(),
                        "--version")
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            assertThat(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .isEqualTo("weir-gateway " + pom.group(1) + "\n");
            assertThat(process.waitFor()).isZero();
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void containsNoLibraryThatNothingUses() throws IOException {
        assertThat(libraries())
                .contains("spring-core.jar")
                .noneMatch(name -> name.contains("native-quic") || name.startsWith("bcprov"))
                .noneMatch(name -> name.startsWith("kotlin") || name.startsWith("jsr305"))
                .noneMatch(name -> name.startsWith("junit") || name.startsWith("wiremock"));
        assertThat(Files.size(JAR)).isLessThan(SIZE_MAX_BYTES);
    }
}
