package io.weir.sim.records;

import io.weir.sim.problem.ProblemException;

/** The SQL statements of both drivers, which name parameters in the same way through Spring. */
final class RecordsSql {

    private static final String COLUMNS = "id, name, amount, created_at";

    static final String FIRST_TEN = "select " + COLUMNS + " from records order by id limit 10";
    static final String INSERT = "insert into records (name, amount) values (:name, :amount) returning " + COLUMNS;
    static final String UPDATE =
            "update records set name = :name, amount = :amount where id = :id returning " + COLUMNS;
    /** The query sleeps in the database and holds a connection meanwhile. */
    static final String SLEEP = "select pg_sleep(:seconds)";

    private RecordsSql() {}

    static ProblemException unknownId(long id) {
        return ProblemException.notFound("id: " + id + " (expected: the id of a stored record)");
    }
}
