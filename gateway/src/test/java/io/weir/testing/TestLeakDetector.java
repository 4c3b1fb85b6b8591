package io.weir.testing;

import io.netty.util.ResourceLeakDetector;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Netty's leak detector, with the current test class in the record of each buffer's creation. It reports
 * equal records only once, and every buffer that an event loop reads has an equal stack trace: without the
 * class, a leak of an earlier class would hide those of all later ones. The builds name it in
 * {@code io.netty.customResourceLeakDetector}.
 */
public final class TestLeakDetector<T> extends ResourceLeakDetector<T> {

    private static final AtomicBoolean INSTALLED = new AtomicBoolean();

    static volatile String testClass = "no test class with Leaks";

    public TestLeakDetector(Class<?> resourceType, int samplingInterval) {
        super(resourceType, samplingInterval);
        INSTALLED.set(true);
    }

    /** Whether Netty uses this detector. */
    static boolean isInstalled() {
        return INSTALLED.get();
    }

    /**
     * Whether a record of a leaked buffer is one of the current test class; without this detector, all are.
     */
    static boolean isOfTestClass(String records) {
        return !isInstalled() || records.contains(testClass);
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
        return testClass;
    }
}
