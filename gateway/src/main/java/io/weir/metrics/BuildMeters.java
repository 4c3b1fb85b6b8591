package io.weir.metrics;

/** The meter that names the gateway's build. */
public final class BuildMeters {

    private BuildMeters() {}

    /**
     * Shows the build, for as long as this gateway runs.
     *
     * @param version the gateway's version
     * @param java the version of Java
     */
    public static void show(MeterBook book, String version, String java) {
        book.open().gauge(GatewayMeter.BUILD, () -> 1, version, java);
    }
}
