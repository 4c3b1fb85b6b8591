/**
 * A usual front: Spring MVC, where a Tomcat thread forwards the request and waits for the backend.
 *
 * <p>All backends share the threads ({@code server.tomcat.threads.max}, by default 200). There is no
 * deadline, no breaker and no compartment, so requests that one backend does not answer hold the threads that
 * the others need.
 *
 * <p>It has its own module because Spring MVC and Spring Cloud Gateway cannot share a class path.
 */
@NullMarked
package io.weir.perf.front;

import org.jspecify.annotations.NullMarked;
