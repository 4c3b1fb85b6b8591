package io.weir.config.check;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.AbstractResource;
import org.springframework.core.io.Resource;

/**
 * A file with the text of one read, so that all readers see the same text even if the file changes meanwhile.
 */
final class LoadedFile extends AbstractResource {

    private final Resource file;
    private final String text;

    LoadedFile(Resource file, String text) {
        this.file = file;
        this.text = text;
    }

    /** The resource to read the file again from. */
    Resource file() {
        return file;
    }

    @Override
    public InputStream getInputStream() {
        return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public boolean exists() {
        return true;
    }

    @Override
    public boolean isFile() {
        return file.isFile();
    }

    @Override
    public File getFile() throws IOException {
        return file.getFile();
    }

    @Override
    public URL getURL() throws IOException {
        return file.getURL();
    }

    @Override
    public URI getURI() throws IOException {
        return file.getURI();
    }

    @Override
    public @Nullable String getFilename() {
        return file.getFilename();
    }

    @Override
    public String getDescription() {
        return file.getDescription();
    }

    /** Equal if the files are equal; the text does not matter. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LoadedFile that && file.equals(that.file);
    }

    @Override
    public int hashCode() {
        return file.hashCode();
    }
}
