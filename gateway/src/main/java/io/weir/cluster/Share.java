package io.weir.cluster;

/**
 * What one gateway may have of a limit that holds for all.
 *
 * @param permits its part, rounded down so that all parts together are not more than the limit, and never less than one
 * @param isFloored whether the part would be less than one: all gateways together may then have more than the limit
 */
public record Share(int permits, boolean isFloored) {

    /**
     * The share of a limit.
     *
     * @param limit for all gateways; at least 1
     * @param gateways how many there are; 0 is taken as one, since whoever asks is there
     */
    public static Share of(int limit, int gateways) {
        int part = limit / Math.max(1, gateways);
        return new Share(Math.max(1, part), part < 1);
    }
}
