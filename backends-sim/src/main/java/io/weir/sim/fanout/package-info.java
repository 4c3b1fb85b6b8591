/**
 * One answer out of two other services: one after the other and in parallel, in four ways.
 *
 * <table><caption>{@code GET /fanout/{way}?parallel=true|false}</caption>
 * <tr><td>{@code platform}</td><td>a platform thread waits for each answer</td></tr>
 * <tr><td>{@code virtual}</td><td>a virtual thread waits for each answer: the same code</td></tr>
 * <tr><td>{@code webclient}</td><td>no thread waits: {@code WebClient}, {@code Mono.zip}</td></tr>
 * <tr><td>{@code coroutines}</td><td>no thread waits: Kotlin's coroutines over the JDK's client</td></tr>
 * </table>
 *
 * <p>Every stack has all four, since they are about the side that asks. In each, asking two services of 200 ms takes 400 ms
 * one after the other and 200 ms in parallel; what differs is what is held meanwhile. Each way answers through a future,
 * so the server's own threads are out of the comparison. A jar packaged for one stack has those ways whose libraries that
 * stack needs anyway, and answers 501 for the others.
 *
 * <p>The Kotlin is real, in a source folder of its own: it is compiled first, against the Java sources, and the Java
 * compiler then finds its classes.
 */
@NullMarked
package io.weir.sim.fanout;

import org.jspecify.annotations.NullMarked;
