package io.weir.perf.result;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A completed request, as its caller saw it.
 *
 * @param step the step in which it was sent; empty: outside of all steps
 * @param atMillis when it was sent
 * @param micros from sending to completion
 * @param name the kind of request
 * @param outcome {@code success} for status 200, the gateway's reason, {@code status-500}, or {@code
 *     timeout}, {@code reset} and the like if there was no answer
 */
public record Request(
        String step,
        long atMillis,
        long micros,
        @JsonProperty("request") String name,
        String outcome) {

    public static final String SUCCESS = "success";

    /** Interns the texts: millions of requests share a few words. */
    public Request {
        CsvTable.check(atMillis >= 0, "at_ms", atMillis, "0 or more");
        CsvTable.check(micros >= 0, "micros", micros, "0 or more");
        CsvTable.check(!name.isBlank(), "request", name, "a name");
        CsvTable.check(!outcome.isBlank(), "outcome", outcome, "a name");
        step = step.intern();
        name = name.intern();
        outcome = outcome.intern();
    }

    public boolean succeeded() {
        return outcome.equals(SUCCESS);
    }

    public Request in(String otherStep) {
        return new Request(otherStep, atMillis, micros, name, outcome);
    }

    public Request later(long millis) {
        return new Request(step, Math.max(0, atMillis + millis), micros, name, outcome);
    }

    public double millis() {
        return micros / 1000.0;
    }

    public double endMillis() {
        return atMillis + millis();
    }
}
