package io.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.springframework.util.FileSystemUtils;

/**
 * Builds the jar of an extension from its sources, in this JVM: in a fraction of the time that Maven needs.
 */
public final class ExtensionBuild {

    private ExtensionBuild() {}

    /**
     * Compiles the directory "java" of the sources, and packs the classes with the directory "resources".
     */
    public static void jar(Path sources, Path jar) throws IOException {
        build(sources, jar, name -> true);
    }

    /** The same without the file of one class. */
    public static void jarWithout(String className, Path sources, Path jar) throws IOException {
        build(sources, jar, name -> !name.equals(className.replace('.', '/') + ".class"));
    }

    private static void build(Path sources, Path jar, Predicate<String> isPacked) throws IOException {
        Path classes = Files.createTempDirectory("weir-extension");
        try {
            compile(files(sources.resolve("java")), classes);
            try (OutputStream out = Files.newOutputStream(jar);
                    JarOutputStream entries = new JarOutputStream(out)) {
                for (Path root : List.of(classes, sources.resolve("resources"))) {
                    for (Path file : files(root)) {
                        String name = root.relativize(file).toString().replace('\\', '/');
                        if (isPacked.test(name)) {
                            entries.putNextEntry(new JarEntry(name));
                            Files.copy(file, entries);
                            entries.closeEntry();
                        }
                    }
                }
            }
        } finally {
            FileSystemUtils.deleteRecursively(classes);
        }
    }

    private static List<Path> files(Path root) throws IOException {
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(Files::isRegularFile).toList();
        }
    }

    private static void compile(List<Path> sources, Path classes) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter errors = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            List<String> options = List.of(
                    "-parameters",
                    "-proc:none",
                    "-nowarn",
                    "-d",
                    classes.toString(),
                    "-cp",
                    System.getProperty("java.class.path"));
            boolean isCompiled = compiler.getTask(
                            errors, files, null, options, null, files.getJavaFileObjectsFromPaths(sources))
                    .call();
            assertThat(isCompiled).as("compiles: %s", errors).isTrue();
        }
    }
}
