package io.weir.config.check;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * The version of this build, from {@code META-INF/build-info.properties}, which Maven writes into the jar.
 * {@code --version}, {@code /actuator/info} and the metric {@code weir_build_info} all show it.
 */
public final class BuildVersion {

    /** The name of the program, and of its artifact in Maven. */
    public static final String PROGRAM = "weir-gateway";

    private static final String FILE = "/META-INF/build-info.properties";
    private static final String UNKNOWN = "unknown";
    private static final String CURRENT = read();

    private BuildVersion() {}

    /** The version, such as {@code 0.1.0}; {@code unknown} in classes that Maven has not built. */
    public static String current() {
        return CURRENT;
    }

    private static String read() {
        Properties build = new Properties();
        try (InputStream file = BuildVersion.class.getResourceAsStream(FILE)) {
            if (file != null) {
                build.load(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        // Another jar on the class path may have such a file, too.
        return PROGRAM.equals(build.getProperty("build.artifact"))
                ? build.getProperty("build.version", UNKNOWN)
                : UNKNOWN;
    }
}
