package io.weir.testing;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.io.Resource;
import org.springframework.core.io.ResourceLoader;
import org.springframework.core.type.classreading.CachingMetadataReaderFactory;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.classreading.MetadataReaderFactory;

/**
 * The metadata of classes that Spring has read, for all gateways of this JVM: it takes a quarter of a start
 * to read it, and it does not change.
 */
final class ClassMetadata implements ApplicationContextInitializer<GenericApplicationContext> {

    /** Spring Boot uses a bean with this name, if there is one. */
    private static final String FACTORY = "org.springframework.boot.autoconfigure.internalCachingMetadataReaderFactory";

    private final Map<Resource, MetadataReader> read = new ConcurrentHashMap<>();

    @Override
    public void initialize(GenericApplicationContext context) {
        // The context clears this cache after its start.
        Map<Resource, MetadataReader> cache = context.getResourceCache(MetadataReader.class);
        cache.putAll(read);
        context.registerBean(
                FACTORY, MetadataReaderFactory.class, () -> new CachingMetadataReaderFactory((ResourceLoader) context));
        context.addBeanFactoryPostProcessor(factory -> read.putAll(cache));
    }
}
