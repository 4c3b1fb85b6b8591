package io.weir.compression;

import java.util.List;

/** Reads {@code Accept-Encoding} (RFC 9110, 12.5.3). */
final class AcceptEncoding {

    private static final double UNSET = -1;

    private AcceptEncoding() {}

    /**
     * Whether a caller accepts gzip, and does not prefer the answer as it is.
     *
     * @param fields the values of all fields of this name
     */
    static boolean acceptsGzip(List<String> fields) {
        double gzip = UNSET;
        double identity = UNSET;
        double others = UNSET;
        for (String field : fields) {
            for (String element : field.split(",", -1)) {
                int semicolon = element.indexOf(';');
                String coding = (semicolon < 0 ? element : element.substring(0, semicolon)).strip();
                double weight = semicolon < 0 ? 1 : weight(element.substring(semicolon + 1));
                if (coding.equalsIgnoreCase("gzip") || coding.equalsIgnoreCase("x-gzip")) {
                    gzip = Math.max(gzip, weight);
                } else if (coding.equalsIgnoreCase("identity")) {
                    identity = weight;
                } else if (coding.equals("*")) {
                    others = weight;
                }
            }
        }
        double wanted = gzip == UNSET ? others : gzip;
        return wanted > 0 && wanted >= identity;
    }

    /** The weight of a coding; 0 if it is malformed, so that the answer stays as it is. */
    private static double weight(String parameters) {
        String text = parameters.strip();
        if (!text.regionMatches(true, 0, "q", 0, 1)) {
            return 0;
        }
        int equals = text.indexOf('=');
        try {
            double weight = equals < 0
                    ? 0
                    : Double.parseDouble(text.substring(equals + 1).strip());
            return weight >= 0 && weight <= 1 ? weight : 0;
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}
