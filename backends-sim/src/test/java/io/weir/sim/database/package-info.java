@NullMarked
package io.weir.sim.database;

import org.jspecify.annotations.NullMarked;
