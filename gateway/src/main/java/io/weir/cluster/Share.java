package io.weir.cluster;

/**
 * One gateway's share of a limit for the whole cluster.
 *
 * @param permits the share, at least one
 * @param isFloored whether the share was rounded up to one permit; then the shares may add up to more than
 *     the limit
 */
public record Share(int permits, boolean isFloored) {

    /**
     * Computes the share. The remainder of an equal division goes to the gateways of the lowest ranks, one
     * permit each, so that the shares add up to the limit. A gateway that does not know its rank gets no part
     * of the remainder.
     *
     * @param limit the limit for all gateways together; at least 1
     */
    public static Share of(int limit, Membership membership) {
        int gateways = membership.gateways();
        int rank = membership.rank();
        boolean isAmongFirst = rank != Membership.UNKNOWN_RANK && rank < limit % gateways;
        int share = limit / gateways + (isAmongFirst ? 1 : 0);
        return new Share(Math.max(1, share), share < 1);
    }
}
