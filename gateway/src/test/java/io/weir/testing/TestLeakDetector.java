package io.weir.testing;

import io.netty.util.ResourceLeakDetector;
import io.netty.util.ResourceLeakTracker;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Netty's leak detector, with the current test class in the record of each buffer's creation. It reports
 * equal records only once, and every buffer that an event loop reads has an equal stack trace: without the
 * class, a leak of an earlier class would hide those of all later ones. The builds name it in
 * {@code io.netty.customResourceLeakDetector}.
 */
public final class TestLeakDetector<T> extends ResourceLeakDetector<T> {

    private static final AtomicBoolean INSTALLED = new AtomicBoolean();

    private static volatile TestClass current = new TestClass("no test class with Leaks", new AtomicLong());

    /** A test class, and the number of its buffers that are not released. */
    private record TestClass(String name, AtomicLong open) {}

    /** Counts a buffer until it is released. */
    private record Counted<T>(ResourceLeakTracker<T> tracker, AtomicLong open) implements ResourceLeakTracker<T> {

        @Override
        public void record() {
            tracker.record();
        }

        @Override
        public void record(Object hint) {
            tracker.record(hint);
        }

        @Override
        public boolean close(T resource) {
            boolean isClosed = tracker.close(resource);
            if (isClosed) {
                open.decrementAndGet();
            }
            return isClosed;
        }

        @Override
        public @Nullable Throwable getCloseStackTraceIfAny() {
            return tracker.getCloseStackTraceIfAny();
        }
    }

    public TestLeakDetector(Class<?> resourceType, int samplingInterval) {
        super(resourceType, samplingInterval);
        INSTALLED.set(true);
    }

    /** Attributes the buffers that are created from now on to a test class. */
    static void begin(Class<?> testClass) {
        current = new TestClass(testClass.getName(), new AtomicLong());
    }

    /**
     * Whether the current test class may have leaked a buffer: one that it has created is not released.
     * Without this detector, each may have.
     */
    static boolean mayHaveLeaked() {
        return !isInstalled() || current.open().get() > 0;
    }

    /** Whether Netty uses this detector. */
    static boolean isInstalled() {
        return INSTALLED.get();
    }

    /**
     * Whether a record of a leaked buffer is one of the current test class; without this detector, all are.
     */
    static boolean isOfTestClass(String records) {
        return !isInstalled() || records.contains(current.name());
    }

    /**
     * Whether Netty uses this detector if the JVM's options name it; it goes on with its own if it cannot.
     */
    static boolean isInstalledIfNamed() {
        return isInstalled()
                || !TestLeakDetector.class.getName().equals(System.getProperty("io.netty.customResourceLeakDetector"));
    }

    /** Netty also looks for a constructor with a limit, which it does not use any more. */
    public TestLeakDetector(Class<?> resourceType, int samplingInterval, long maxActive) {
        this(resourceType, samplingInterval);
    }

    @Override
    protected Object getInitialHint(String resourceType) {
        return current.name();
    }

    @Override
    public @Nullable ResourceLeakTracker<T> track(T resource) {
        TestClass creator = current;
        return counted(super.track(resource), creator);
    }

    @Override
    public @Nullable ResourceLeakTracker<T> trackForcibly(T resource) {
        TestClass creator = current;
        return counted(super.trackForcibly(resource), creator);
    }

    private static <T> @Nullable ResourceLeakTracker<T> counted(
            @Nullable ResourceLeakTracker<T> tracker, TestClass creator) {
        if (tracker == null) {
            return null;
        }
        creator.open().incrementAndGet();
        return new Counted<>(tracker, creator.open());
    }
}
