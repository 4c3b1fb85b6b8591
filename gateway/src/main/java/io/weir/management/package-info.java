/**
 * The management port: its endpoints, its guard, and the interfaces through which an operator changes the gateway.
 */
@NullMarked
package io.weir.management;

import org.jspecify.annotations.NullMarked;
