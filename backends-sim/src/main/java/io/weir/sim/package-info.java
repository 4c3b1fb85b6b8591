/**
 * Slow services on a real database, in five stacks, breakable at run time.
 */
@NullMarked
package io.weir.sim;

import org.jspecify.annotations.NullMarked;
