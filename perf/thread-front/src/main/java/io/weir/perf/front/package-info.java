/**
 * A front as many services have it: Spring MVC, a thread of Tomcat's for each request, and that thread waits for the backend.
 *
 * <p>All backends share the threads (Tomcat's 200 unless {@code server.tomcat.threads.max} says otherwise), and nothing else limits anything: no deadline, no breaker,
 * no compartment. Requests that a backend does not answer hold their threads, until there are none left for those of the other backends.
 *
 * <p>It is a module of its own since Spring MVC cannot be on the class path of Spring Cloud Gateway.
 */
@NullMarked
package io.weir.perf.front;

import org.jspecify.annotations.NullMarked;
