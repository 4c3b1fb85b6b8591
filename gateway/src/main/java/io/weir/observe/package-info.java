/** TODO */
@NullMarked
package io.weir.observe;

import org.jspecify.annotations.NullMarked;
