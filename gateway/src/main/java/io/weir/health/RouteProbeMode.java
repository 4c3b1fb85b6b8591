package io.weir.health;

/** The use of one route's requests as probes; see {@link ProbeMode}. */
public enum RouteProbeMode {
    /** Copies of the route's requests are probes. */
    SHADOW,
    /** The route's requests themselves are probes. */
    CALLER;

    /** The same mode of a backend. */
    public ProbeMode mode() {
        return this == SHADOW ? ProbeMode.SHADOW : ProbeMode.CALLER;
    }
}
