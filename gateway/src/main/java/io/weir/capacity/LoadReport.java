package io.weir.capacity;

import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/**
 * A load report of ORCA (Open Request Cost Aggregation), as text or JSON: {@code TEXT
 * cpu_utilization=0.3,application_utilization=0.8} or {@code JSON {"cpu_utilization": 0.3}}. Of its figures,
 * only the utilisation is read: that of the application, or else that of the processor. Source: the message
 * {@code xds.data.orca.v3.OrcaLoadReport}, where a figure that is 0 or missing is unknown.
 */
final class LoadReport {

    /** The report has no utilisation. */
    static final double UNKNOWN = 0;

    /** The text is no report. */
    static final double MALFORMED = -1;

    private static final String TEXT = "TEXT ";
    private static final String JSON = "JSON ";
    private static final JsonFactory FACTORY = new JsonFactory();

    /** Names as in the message, and as JSON has them by default. */
    private double application;

    private double processor;

    private LoadReport() {}

    /** Whether the text has one of the two formats. */
    static boolean isOne(String text) {
        return text.startsWith(TEXT) || text.startsWith(JSON);
    }

    /** The utilisation, above 0, where 1 is full; or {@link #UNKNOWN} or {@link #MALFORMED}. */
    static double utilisation(String text) {
        LoadReport report = new LoadReport();
        try {
            if (text.startsWith(TEXT)) {
                report.readText(text);
            } else {
                report.readJson(text.substring(JSON.length()));
            }
        } catch (NumberFormatException | JacksonException e) {
            return MALFORMED;
        }
        double found = report.application == UNKNOWN ? report.processor : report.application;
        return found >= 0 && Double.isFinite(found) ? found : MALFORMED;
    }

    private void readText(String text) {
        for (String pair : text.substring(TEXT.length()).split(",", -1)) {
            int middle = pair.indexOf('=') < 0 ? pair.indexOf(':') : pair.indexOf('=');
            if (middle < 0) {
                throw new NumberFormatException(pair);
            }
            set(pair.substring(0, middle).strip(), Double.parseDouble(pair.substring(middle + 1)));
        }
    }

    private void readJson(String text) {
        try (JsonParser parser = FACTORY.createParser(ObjectReadContext.empty(), text)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new NumberFormatException(text);
            }
            while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = parser.currentName();
                if (parser.nextToken().isNumeric()) {
                    set(name, parser.getDoubleValue());
                } else {
                    parser.skipChildren();
                }
            }
        }
    }

    private void set(String name, double value) {
        switch (name) {
            case "application_utilization", "applicationUtilization" -> application = value;
            case "cpu_utilization", "cpuUtilization" -> processor = value;
            default -> {}
        }
    }
}
