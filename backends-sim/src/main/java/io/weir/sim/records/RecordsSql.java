package io.weir.sim.records;

import io.weir.sim.problem.Refusal;

/** The statements, once for both drivers, which name their parameters alike through Spring. */
final class RecordsSql {

    private static final String COLUMNS = "id, name, amount, created_at";

    static final String FIRST_TEN = "select " + COLUMNS + " from records order by id limit 10";
    static final String INSERT = "insert into records (name, amount) values (:name, :amount) returning " + COLUMNS;
    static final String UPDATE =
            "update records set name = :name, amount = :amount where id = :id returning " + COLUMNS;
    /** The time is spent in the database, and a connection with it. */
    static final String SLEEP = "select pg_sleep(:seconds)";

    private RecordsSql() {}

    static Refusal unknown(long id) {
        return Refusal.notFound("id: " + id + " (expected: the id of a stored record)");
    }
}
