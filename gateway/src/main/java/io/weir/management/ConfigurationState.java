package io.weir.management;

/**
 * The configuration in force, in the endpoint {@code weir} and on the dashboard.
 *
 * @param hash the hash of the values in the files; equal for gateways with the same configuration, whatever
 *     their operators have changed
 * @param operatorValues values that operators have changed, which are in force in place of those in the files
 */
public record ConfigurationState(String hash, int operatorValues) {

    /** No configuration is known. */
    public static final ConfigurationState UNKNOWN = new ConfigurationState("", 0);
}
