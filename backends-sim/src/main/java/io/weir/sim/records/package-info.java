/**
 * The service whose implementations are compared. It reads ten records, inserts one, updates one, runs a slow
 * query, and waits without a database.
 *
 * <table><caption>Endpoints, the same in every stack</caption>
 * <tr><td>{@code GET /records}</td><td>the first ten rows</td></tr>
 * <tr><td>{@code POST /records}</td><td>inserts a row, 201</td></tr>
 * <tr><td>{@code PUT /records/{id}}</td><td>updates a row; waits while another session holds the row's
 * lock</td></tr>
 * <tr><td>{@code GET /records/slow?ms=200}</td><td>slow in the database, holds a connection
 * ({@code pg_sleep})</td></tr>
 * <tr><td>{@code GET /delay?ms=200}</td><td>slow in the service, without a connection</td></tr>
 * </table>
 *
 * <p>There are two controllers, because blocking and reactive methods have different signatures, but one set
 * of SQL statements and answers. {@code POST} inserts rather than updates, so that writers do not wait for
 * each other; {@code PUT} is the one that a row lock delays. No insert changes the first ten rows, so
 * {@code GET} answers the same while others write.
 *
 * <p>Spring MVC collects the {@code Flux} of {@code mvc-r2dbc} into a list before it writes the answer; the
 * bytes are the same.
 */
@NullMarked
package io.weir.sim.records;

import org.jspecify.annotations.NullMarked;
