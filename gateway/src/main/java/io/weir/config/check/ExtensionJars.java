package io.weir.config.check;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.function.SingletonSupplier;

/**
 * The jars that an installation has added to the gateway. They are in Spring Boot's loader path: by default
 * in the directory {@code extensions} of the working directory. Immutable.
 */
public final class ExtensionJars {

    /** The property of Spring Boot's launcher. */
    private static final String PATH = "loader.path";

    private static final String PATH_VARIABLE = "LOADER_PATH";
    private static final String DEFAULT_PATH = "extensions";
    private static final String JAR = ".jar";
    private static final String CLASS = ".class";
    private static final Pattern CLASS_NAME = Pattern.compile("[\\p{L}_$][\\w$]*(?:[./][\\p{L}_$][\\w$]*)+");

    /** Read once, because the class path of a process does not change. */
    private static final Supplier<ExtensionJars> INSTALLED = SingletonSupplier.of(ExtensionJars::readInstalled);

    private final List<ExtensionJar> jars = new ArrayList<>();
    private final List<ConfigurationProblem> problems = new ArrayList<>();

    private record ExtensionJar(Path file, Set<String> classes) {}

    /**
     * The jars of a loader path.
     *
     * @param path directories and jars, separated by commas; what is no file, such as a directory in the
     *     gateway's own jar, is skipped
     * @param classPath the class loader that must have loaded the jars
     */
    ExtensionJars(String path, @Nullable ClassLoader classPath) {
        for (String element : path.split(",", -1)) {
            for (Path file : jarFiles(element.strip().replaceFirst("^file:", "").replaceFirst("/\\*?$", ""))) {
                read(file, classPath);
            }
        }
    }

    /** Whether this process has extensions. */
    public static boolean areInstalled() {
        return !installed().isEmpty();
    }

    /** The jars of this process. */
    static ExtensionJars installed() {
        return Objects.requireNonNull(INSTALLED.get());
    }

    private static ExtensionJars readInstalled() {
        String path = System.getProperty(PATH);
        String variable = System.getenv(PATH_VARIABLE);
        return new ExtensionJars(
                path != null ? path : variable != null ? variable : DEFAULT_PATH, ClassUtils.getDefaultClassLoader());
    }

    private List<Path> jarFiles(String element) {
        Path path = Path.of(element);
        if (element.isEmpty() || !Files.exists(path)) {
            return List.of();
        }
        if (!Files.isDirectory(path)) {
            return element.endsWith(JAR) ? List.of(path) : List.of();
        }
        try (Stream<Path> files = Files.list(path)) {
            return files.filter(file -> file.toString().endsWith(JAR)).sorted().toList();
        } catch (IOException e) {
            problems.add(problem(path, "not readable: " + e.getMessage()));
            return List.of();
        }
    }

    private void read(Path file, @Nullable ClassLoader classPath) {
        Set<String> classes = new HashSet<>();
        try (JarFile jar = new JarFile(file.toFile())) {
            jar.stream()
                    .map(ZipEntry::getName)
                    .filter(name -> name.endsWith(CLASS))
                    .forEach(name -> classes.add(
                            name.substring(0, name.length() - CLASS.length()).replace('/', '.')));
            Optional<String> any = jar.stream()
                    .map(ZipEntry::getName)
                    .filter(name -> !name.endsWith("/"))
                    .max(String::compareTo);
            if (any.isPresent() && !isOnClassPath(file, any.get(), classPath)) {
                problems.add(problem(
                        file,
                        "not on the class path (expected: a start of the gateway's own jar by java -jar, "
                                + "or the directory in -cp)"));
            }
        } catch (IOException e) {
            problems.add(problem(file, "cannot be loaded: not a jar: " + e.getMessage()));
        }
        jars.add(new ExtensionJar(file, Set.copyOf(classes)));
    }

    private static boolean isOnClassPath(Path file, String entry, @Nullable ClassLoader classPath) throws IOException {
        List<URL> found = Collections.list(
                classPath == null ? ClassLoader.getSystemResources(entry) : classPath.getResources(entry));
        for (URL url : found) {
            String text = url.toString();
            int end = text.indexOf("!/");
            if (text.startsWith("jar:file:")
                    && end > 0
                    && Files.isSameFile(Path.of(URI.create(text.substring("jar:".length(), end))), file)) {
                return true;
            }
        }
        return false;
    }

    /** Whether nothing is installed. */
    boolean isEmpty() {
        return jars.isEmpty() && problems.isEmpty();
    }

    /** The jars that cannot be loaded at all. */
    List<ConfigurationProblem> problems() {
        return List.copyOf(problems);
    }

    /** The problem of the jar that has caused a failure of Spring; of all jars if the cause names none. */
    ConfigurationProblem problem(Throwable failure) {
        String why = "cannot be loaded: " + cause(failure);
        return fileOf(failure)
                .map(file -> problem(file, why))
                .orElseGet(() -> ConfigurationProblem.of(
                        SourceLocation.outsideFiles("extensions"),
                        "",
                        null,
                        why + " (one of "
                                + String.join(
                                        ", ",
                                        jars.stream()
                                                .map(jar ->
                                                        jar.file().getFileName().toString())
                                                .toList())
                                + ')'));
    }

    private static ConfigurationProblem problem(Path file, String why) {
        return ConfigurationProblem.of(
                SourceLocation.inFile(file.toString().replace(File.separatorChar, '/'), 0), "", null, why);
    }

    /**
     * The jar with a class that the messages of a failure name, or else its stack traces; the innermost cause
     * first. Empty if there is none.
     */
    Optional<Path> fileOf(Throwable failure) {
        List<Throwable> causes = new ArrayList<>();
        for (Throwable cause = failure; cause != null && !causes.contains(cause); cause = cause.getCause()) {
            causes.addFirst(cause);
        }
        return Stream.concat(
                        causes.stream()
                                .flatMap(cause -> CLASS_NAME
                                        .matcher(String.valueOf(cause.getMessage()))
                                        .results()
                                        .map(name -> name.group().replace('/', '.'))
                                        .flatMap(name -> Stream.of(name, name.replaceFirst("\\.[^.]*$", "")))),
                        causes.stream()
                                .flatMap(cause ->
                                        Stream.of(cause.getStackTrace()).map(StackTraceElement::getClassName)))
                .flatMap(name -> jars.stream()
                        .filter(jar -> jar.classes().contains(name))
                        .map(ExtensionJar::file))
                .findFirst();
    }

    /** The cause of a failure in one line. */
    static String cause(Throwable failure) {
        Throwable root = NestedExceptionUtils.getMostSpecificCause(failure);
        String message = String.valueOf(root.getMessage());
        if (root instanceof ClassNotFoundException || root instanceof NoClassDefFoundError) {
            Matcher name = CLASS_NAME.matcher(message);
            return "needs the class " + (name.find() ? name.group().replace('/', '.') : message)
                    + ", which is in no jar";
        }
        return message.lines().findFirst().orElse("")
                + (root instanceof RuntimeException
                        ? ""
                        : " (" + root.getClass().getSimpleName() + ')');
    }
}
