/** Weir: a resilience gateway that gives every backend a compartment of its own. */
@NullMarked
package io.weir;

import org.jspecify.annotations.NullMarked;
