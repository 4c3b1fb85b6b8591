package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.http.HttpDsl.header;
import static io.gatling.javaapi.http.HttpDsl.http;
import static io.gatling.javaapi.http.HttpDsl.status;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.Session;
import io.gatling.javaapi.http.HttpProtocolBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Function;

/** The requests of virtual users. Writes a row for each. */
final class Callers {

    private static final String SENT_NANOS = "sent";
    private static final String NAME = "name";
    private static final String STATUS = "status";
    private static final String REASON = "reason";

    private final LoadPlan plan;
    private final RowFile rows;
    private long planned;
    private boolean begun;
    private long beginNanos;

    Callers(LoadPlan plan) {
        this.plan = plan;
        this.rows = new RowFile(Path.of(plan.rows()));
    }

    HttpProtocolBuilder protocol() {
        return http.baseUrl(plan.url()).disableCaching().disableFollowRedirect();
    }

    /** Adds requests that the simulation must send; fewer make the run invalid. */
    void plan(long requests) {
        planned += requests;
    }

    void start() {
        new WakeUpDelays(rows, plan.beganMillis()).start();
        if (planned > 0) {
            System.out.println("weir: " + planned + " requests planned");
        }
        System.out.flush();
    }

    /** Announces to {@code perf/run} that the load began that long ago; only the first call has an effect. */
    ChainBuilder begin(Duration ago) {
        return exec(session -> {
            begin(ago.toMillis());
            return session;
        });
    }

    private synchronized void begin(long agoMillis) {
        if (!begun) {
            begun = true;
            beginNanos = System.nanoTime() - agoMillis * 1_000_000;
            System.out.println("weir: load begins " + (System.currentTimeMillis() - agoMillis));
            System.out.flush();
        }
    }

    private synchronized Duration sinceBegin() {
        return begun ? Duration.ofNanos(System.nanoTime() - beginNanos) : Duration.ZERO;
    }

    void end() {
        rows.close();
    }

    /**
     * One request; {@code reportName} names it in Gatling's report and assertions, by the time since the
     * begin.
     */
    ChainBuilder request(String name, String path, Function<Duration, String> reportName) {
        return exec(session -> session.set(NAME, reportName.apply(sinceBegin())).set(SENT_NANOS, System.nanoTime()))
                .exec(http("#{" + NAME + "}")
                        .get(path)
                        .requestTimeout(Duration.ofMillis(plan.timeoutMillis()))
                        .check(
                                status().saveAs(STATUS),
                                header("Proxy-Status").optional().saveAs(REASON),
                                status().is(200)))
                .exec(session -> {
                    long nanos = System.nanoTime() - session.getLong(SENT_NANOS);
                    long sentMillis = System.currentTimeMillis() - nanos / 1_000_000;
                    rows.add(sentMillis - plan.beganMillis(), nanos / 1000, name, outcome(session));
                    return session.removeAll(STATUS, REASON);
                });
    }

    private static String outcome(Session session) {
        if (!session.contains(STATUS)) {
            return FailureLog.takeOutcome();
        }
        if (session.getInt(STATUS) == 200) {
            return "success";
        }
        String proxyStatus = session.contains(REASON) ? String.valueOf(session.getString(REASON)) : "";
        int at = proxyStatus.indexOf("details=\"");
        return at < 0
                ? "status-" + session.getInt(STATUS)
                : proxyStatus.substring(at + 9, proxyStatus.indexOf('"', at + 9));
    }
}
