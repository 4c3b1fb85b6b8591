/** TODO */
@NullMarked
package io.weir.door;

import org.jspecify.annotations.NullMarked;
