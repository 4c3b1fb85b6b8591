/** TODO */
@NullMarked
package io.weir.config;

import org.jspecify.annotations.NullMarked;
