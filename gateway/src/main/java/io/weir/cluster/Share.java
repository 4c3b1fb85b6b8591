package io.weir.cluster;

/**
 * One gateway's share of a limit for the whole cluster.
 *
 * @param permits the share, at least one; rounded down, so that the shares do not add up to more than the
 *     limit
 * @param isFloored whether the share was rounded up to one permit; then the shares may add up to more than
 *     the limit
 */
public record Share(int permits, boolean isFloored) {

    /**
     * Computes the share.
     *
     * @param limit the limit for all gateways together; at least 1
     * @param gateways the number of gateways; 0 counts as 1, since this gateway exists
     */
    public static Share of(int limit, int gateways) {
        int share = limit / Math.max(1, gateways);
        return new Share(Math.max(1, share), share < 1);
    }
}
