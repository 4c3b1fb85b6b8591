package io.weir.reload;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.ssl.JksSslBundleProperties;
import org.springframework.boot.autoconfigure.ssl.PemSslBundleProperties;
import org.springframework.boot.autoconfigure.ssl.PropertiesSslBundle;
import org.springframework.boot.autoconfigure.ssl.SslProperties;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.pem.PemContent;
import org.springframework.core.io.Resource;
import org.springframework.core.io.ResourceLoader;

/** An SSL bundle of {@code spring.ssl.bundle}, and the files that it is read from. */
public final class BundleSource {

    private final String name;
    private final Supplier<SslBundle> reader;
    private final Set<Path> watchedFiles;
    private final Map<Path, String> initialHashes;

    private BundleSource(String name, Supplier<SslBundle> reader, Set<Path> watchedFiles) {
        this.name = name;
        this.reader = reader;
        this.watchedFiles = watchedFiles;
        this.initialHashes = WatchedFiles.hashes(watchedFiles);
    }

    /**
     * The sources of all configured bundles.
     *
     * @throws IllegalStateException if a bundle with {@code reload-on-update} is not read from files
     */
    public static List<BundleSource> of(SslProperties.Bundles bundles, ResourceLoader loader) {
        List<BundleSource> sources = new ArrayList<>();
        bundles.getPem().forEach((name, properties) -> sources.add(pem(name, properties, loader)));
        bundles.getJks().forEach((name, properties) -> sources.add(jks(name, properties, loader)));
        return List.copyOf(sources);
    }

    private static BundleSource pem(String name, PemSslBundleProperties properties, ResourceLoader loader) {
        Set<Path> files = !properties.isReloadOnUpdate()
                ? Set.of()
                : files(
                        name,
                        loader,
                        properties.getKeystore().getPrivateKey(),
                        properties.getKeystore().getCertificate(),
                        properties.getTruststore().getPrivateKey(),
                        properties.getTruststore().getCertificate());
        return new BundleSource(name, () -> PropertiesSslBundle.get(properties, loader), files);
    }

    private static BundleSource jks(String name, JksSslBundleProperties properties, ResourceLoader loader) {
        Set<Path> files = !properties.isReloadOnUpdate()
                ? Set.of()
                : files(
                        name,
                        loader,
                        properties.getKeystore().getLocation(),
                        properties.getTruststore().getLocation());
        return new BundleSource(name, () -> PropertiesSslBundle.get(properties, loader), files);
    }

    private static Set<Path> files(String name, ResourceLoader loader, @Nullable String... locations) {
        Set<Path> files = new LinkedHashSet<>();
        // PEM text in the configuration itself is in no file.
        Stream.of(locations)
                .filter(location -> location != null && !location.isBlank() && !PemContent.isPresentInText(location))
                .forEach(location -> files.add(file(name, loader, location)));
        return files;
    }

    private static Path file(String name, ResourceLoader loader, String location) {
        Resource resource = loader.getResource(location);
        if (!resource.isFile()) {
            throw new IllegalStateException(
                    "SSL bundle " + name + ": " + location + " (expected: a file, because of reload-on-update)");
        }
        try {
            return resource.getFile().toPath().toAbsolutePath();
        } catch (IOException e) {
            throw new UncheckedIOException("SSL bundle " + name + ": " + location, e);
        }
    }

    /** The bundle's name. */
    public String name() {
        return name;
    }

    /** Reads the bundle. */
    public SslBundle read() {
        return reader.get();
    }

    /** The files whose change is a rotation; empty without {@code reload-on-update}. */
    Set<Path> watchedFiles() {
        return watchedFiles;
    }

    /** The hashes of the files before the bundle was first read. */
    Map<Path, String> initialHashes() {
        return initialHashes;
    }
}
