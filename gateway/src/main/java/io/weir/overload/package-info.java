/**
 * The gateway's own limits: exchanges in flight, event loops' delay, memory. Beyond them new work is shed with {@code
 * gateway-overloaded}, so that what is in flight can be finished.
 *
 * <p>The figures that take longer to get are sampled; a request reads two fields.
 */
@NullMarked
package io.weir.overload;

import org.jspecify.annotations.NullMarked;
