/**
 * The access log: one JSON line per request.
 */
@NullMarked
package io.weir.accesslog;

import org.jspecify.annotations.NullMarked;
