package io.weir.perf.scenario;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/**
 * A Java agent that raises the live set of its JVM to the share of the heap that a file names, in percent of
 * what the collector can hold: not in the survivor spaces.
 */
final class Ballast {

    private static final String MEASURED = "live set was: ";
    private static final int BLOCK_BYTES = 64 << 10;
    private static final int INTERVAL_MILLIS = 20;
    private static final int GROWTH_INTERVAL_MILLIS = 300;
    private static final List<byte[]> BLOCKS = new ArrayList<>();

    private Ballast() {}

    static String option(Path directory, Path wanted) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Premain-Class", Ballast.class.getName());
        Path jar = directory.resolve("ballast.jar");
        String name = Ballast.class.getName().replace('.', '/') + ".class";
        try (InputStream bytes = Ballast.class.getClassLoader().getResourceAsStream(name);
                JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
            out.putNextEntry(new JarEntry(name));
            Objects.requireNonNull(bytes).transferTo(out);
        }
        return "-javaagent:" + jar + "=" + wanted;
    }

    static String reached(int percent) {
        return "live set: " + percent + " %";
    }

    /** The share of the live set before it was last raised. */
    static String lastMeasured(String output) {
        return output.lines()
                .filter(line -> line.startsWith(MEASURED))
                .reduce((first, second) -> second.substring(MEASURED.length()))
                .orElse("unknown");
    }

    public static void premain(String wanted) {
        Thread.ofPlatform().daemon().name("ballast").start(() -> {
            int last = 0;
            try {
                while (true) {
                    Thread.sleep(INTERVAL_MILLIS);
                    int percent =
                            Files.exists(Path.of(wanted)) ? Integer.parseInt(Files.readString(Path.of(wanted))) : 0;
                    if (percent > last) {
                        grow(percent, last == 0 ? INTERVAL_MILLIS : GROWTH_INTERVAL_MILLIS);
                        last = percent;
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    private static void grow(int percent, int intervalMillis) throws InterruptedException {
        System.gc();
        long capacity = capacity();
        int live = (int)
                (100 * ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / capacity);
        System.out.println(MEASURED + live + " %");
        for (; live < percent; live++) {
            for (long bytes = 0; bytes < capacity / 100; bytes += BLOCK_BYTES) {
                BLOCKS.add(new byte[BLOCK_BYTES]);
            }
            Thread.sleep(intervalMillis);
        }
        System.out.println(reached(percent));
    }

    private static long capacity() {
        long max = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getMax();
        long sum = 0;
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getType() == MemoryType.HEAP && !pool.getName().contains("Survivor")) {
                if (pool.getUsage().getMax() < 0) {
                    return max;
                }
                sum += pool.getUsage().getMax();
            }
        }
        return Math.min(sum, max);
    }
}
