/**
 * The service that is compared: ten records read, one written, one changed, a query that is slow in the database, a wait
 * without a database.
 *
 * <table><caption>Endpoints, the same in every stack</caption>
 * <tr><td>{@code GET /records}</td><td>the first ten rows</td></tr>
 * <tr><td>{@code POST /records}</td><td>writes a row, 201</td></tr>
 * <tr><td>{@code PUT /records/{id}}</td><td>changes a row; waits for whoever holds its lock</td></tr>
 * <tr><td>{@code GET /records/slow?ms=200}</td><td>slow in the database, on a connection ({@code pg_sleep})</td></tr>
 * <tr><td>{@code GET /delay?ms=200}</td><td>slow in the service, with no connection</td></tr>
 * </table>
 *
 * <p>There are two controllers, because a blocking and a reactive method differ in their signatures, and one set of
 * statements and of answers. {@code POST} inserts rather than changes, so that writers do not wait for each other;
 * {@code PUT} is the one that a row lock can hold up. The first ten rows are never inserted to, so {@code GET} stays the
 * same while others write.
 *
 * <p>Spring MVC collects the {@code Flux} of {@code mvc-r2dbc} into a list before it writes; the bytes are the same.
 */
@NullMarked
package io.weir.sim.records;

import org.jspecify.annotations.NullMarked;
