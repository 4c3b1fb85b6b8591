/**
 * Which of the five services this process stands as.
 *
 * <p>All of them are in one module, because only what differs between them may differ when they are compared: the same
 * endpoints, JSON, schema and data, the same faults and the same meters. The stack is a property, {@code sim.stack}, and
 * not a Spring profile, so that it can stand in a configuration file, and so that a name that does not exist is refused.
 *
 * <p>{@link io.weir.sim.stack.StackEnvironment} turns it into Spring Boot's own settings before the context is made;
 * components then ask {@link io.weir.sim.stack.ConditionalOnStack}. A stack whose classes are not in the jar (each can
 * be packaged with only what it needs) is refused by name.
 */
@NullMarked
package io.weir.sim.stack;

import org.jspecify.annotations.NullMarked;
