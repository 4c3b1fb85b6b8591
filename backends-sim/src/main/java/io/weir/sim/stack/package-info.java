/**
 * The choice among the five stacks.
 *
 * <p>All stacks are in one module, so that a comparison varies only the stack: the endpoints, JSON, schema,
 * data, faults and meters are the same. The choice is a property, {@code sim.stack}, rather than a Spring
 * profile. So a configuration file can set it, and an unknown name is refused.
 *
 * <p>{@link io.weir.sim.stack.StackEnvironment} translates it to Spring Boot settings before the context
 * starts; components declare {@link io.weir.sim.stack.ConditionalOnStack}. A jar can be packaged for a single
 * stack; it refuses the name of a stack whose classes it lacks.
 */
@NullMarked
package io.weir.sim.stack;

import org.jspecify.annotations.NullMarked;
