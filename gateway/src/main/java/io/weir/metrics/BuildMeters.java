package io.weir.metrics;

/** The meter that names the gateway's build. */
public final class BuildMeters {

    private BuildMeters() {}

    /**
     * Shows the build, for as long as this gateway runs.
     *
     * @param version the gateway's version
     * @param java the version of Java
     * @param tlsEngine the engine of TLS in use
     */
    public static void show(MeterBook book, String version, String java, String tlsEngine) {
        book.open().gauge(GatewayMeter.BUILD, () -> 1, version, java, tlsEngine);
    }
}
