/** TODO */
@NullMarked
package io.weir.edge;

import org.jspecify.annotations.NullMarked;
