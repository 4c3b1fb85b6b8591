package io.weir.warmup;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import org.jspecify.annotations.Nullable;

/** The compilers of this JVM, and its options that matter to a warm-up. */
final class JvmCompilers implements Compilers {

    /** The highest level of the first compiler. */
    private static final int FIRST_COMPILER = 3;
    /** Enough calls for the first compiler, whose thresholds are low. */
    private static final long CALLS_FOR_FIRST = 2_000;
    /** The default of HotSpot. */
    private static final long SECOND_COMPILER_THRESHOLD = 5_000;

    private final @Nullable CompilationMXBean compilation = ManagementFactory.getCompilationMXBean();
    private final @Nullable HotSpotDiagnosticMXBean options =
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);

    @Override
    public long usedMillis() {
        return compilation != null && compilation.isCompilationTimeMonitoringSupported()
                ? compilation.getTotalCompilationTime()
                : 0;
    }

    /** Half as many again as the second compiler waits for. */
    @Override
    public long callsMin() {
        if (compilation == null || number("TieredStopAtLevel", FIRST_COMPILER + 1) <= FIRST_COMPILER) {
            return CALLS_FOR_FIRST;
        }
        long threshold = number("Tier4InvocationThreshold", SECOND_COMPILER_THRESHOLD);
        return threshold + threshold / 2;
    }

    @Override
    public boolean hasCache() {
        return !option("AOTCache").isEmpty();
    }

    private long number(String name, long otherwise) {
        try {
            return Long.parseLong(option(name));
        } catch (NumberFormatException e) {
            return otherwise;
        }
    }

    /** The value of an option; empty: this JVM has none of this name, or it is not set. */
    private String option(String name) {
        try {
            return options == null
                    ? ""
                    : String.valueOf(options.getVMOption(name).getValue());
        } catch (IllegalArgumentException e) {
            return "";
        }
    }
}
