package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.http.HttpDsl.header;
import static io.gatling.javaapi.http.HttpDsl.http;
import static io.gatling.javaapi.http.HttpDsl.status;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.Session;
import io.gatling.javaapi.http.HttpProtocolBuilder;
import java.time.Duration;

/** Virtual users who ask once, wait as long as they have patience, and write down what became of it. */
final class Callers {

    private static final String SENT = "sent";
    private static final String PHASE = "phase";
    private static final String STATUS = "status";
    private static final String REASON = "reason";

    private final Plan plan;
    private final Rows rows = new Rows(Plan.rows());
    private long planned;
    private boolean begun;
    private long beganNanos;

    Callers(Plan plan) {
        this.plan = plan;
    }

    static HttpProtocolBuilder protocol() {
        return http.baseUrl(Plan.text("url")).disableCaching().disableFollowRedirect();
    }

    /** That many requests more are to be made, whatever becomes of others: if they are not, the load was not what it is said to be. */
    void plan(long requests) {
        planned += requests;
    }

    /** For the simulation's {@code before}: the load is to come. */
    void prepare() {
        new Stalls(rows, Plan.began()).start();
        if (planned > 0) {
            System.out.println("weir: " + planned + " requests planned");
        }
        System.out.flush();
    }

    /** The first to come here says that the load began so long ago; {@code perf/run} is told. */
    ChainBuilder begin(Duration ago) {
        return exec(session -> {
            begun(ago);
            return session;
        });
    }

    private synchronized void begun(Duration ago) {
        if (!begun) {
            begun = true;
            beganNanos = System.nanoTime() - ago.toNanos();
            System.out.println("weir: load begins " + (System.currentTimeMillis() - ago.toMillis()));
            System.out.flush();
        }
    }

    private synchronized Duration sinceBegin() {
        return begun ? Duration.ofNanos(System.nanoTime() - beganNanos) : Duration.ZERO;
    }

    /** For the simulation's {@code after}. */
    void end() {
        rows.close();
    }

    /** One request; Gatling's report and the assertions have it by name and phase. */
    ChainBuilder ask(String name, String path) {
        return exec(session -> session.set(PHASE, plan.phaseAt(sinceBegin())))
                .exec(ask(name, path, inPhase(name, "#{" + PHASE + "}")));
    }

    /** One request; Gatling's report and the assertions have it by that name. */
    ChainBuilder ask(String name, String path, String inReport) {
        return exec(session -> session.set(SENT, System.nanoTime()))
                .exec(http(inReport)
                        .get(path)
                        .requestTimeout(Plan.patience())
                        .check(
                                status().saveAs(STATUS),
                                header("Proxy-Status").optional().saveAs(REASON),
                                status().is(200)))
                .exec(session -> {
                    write(name, session);
                    return session.removeAll(STATUS, REASON);
                });
    }

    /** How the requests of a phase are called in Gatling's report. */
    static String inPhase(String name, String phase) {
        return name + ": " + phase;
    }

    private void write(String name, Session session) {
        long nanos = System.nanoTime() - session.getLong(SENT);
        long sentMillis = System.currentTimeMillis() - nanos / 1_000_000;
        rows.add(sentMillis - Plan.began(), nanos / 1000, name, outcome(session));
    }

    private static String outcome(Session session) {
        if (!session.contains(STATUS)) {
            return Failures.take();
        }
        if (session.getInt(STATUS) == 200) {
            return "success";
        }
        String proxyStatus = session.contains(REASON) ? session.getString(REASON) : null;
        int at = proxyStatus == null ? -1 : proxyStatus.indexOf("details=\"");
        return proxyStatus == null || at < 0
                ? "status-" + session.getInt(STATUS)
                : proxyStatus.substring(at + 9, proxyStatus.indexOf('"', at + 9));
    }
}
