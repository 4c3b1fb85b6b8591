/**
 * One answer composed from two other services, called sequentially or in parallel, in four ways.
 *
 * <table><caption>{@code GET /fanout/{way}?parallel=true|false}</caption>
 * <tr><td>{@code platform}</td><td>a platform thread waits for each answer</td></tr>
 * <tr><td>{@code virtual}</td><td>a virtual thread waits for each answer: the same code</td></tr>
 * <tr><td>{@code webclient}</td><td>no thread waits: {@code WebClient}, {@code Mono.zip}</td></tr>
 * <tr><td>{@code coroutines}</td><td>no thread waits: Kotlin's coroutines over the JDK's client</td></tr>
 * </table>
 *
 * <p>Every stack offers all four, since they concern the calling side. In each, two services of 200 ms take
 * 400 ms sequentially and 200 ms in parallel; the ways differ in the resources that they hold meanwhile. Each
 * way answers through a future, so the server's own threads do not affect the comparison. The jar of a single
 * stack offers the ways whose libraries that stack needs anyway, and answers 501 for the others.
 *
 * <p>The Kotlin code has a source folder of its own. The Kotlin compiler runs first, against the Java
 * sources, and the Java compiler then uses its classes.
 */
@NullMarked
package io.weir.sim.fanout;

import org.jspecify.annotations.NullMarked;
