/**
 * The configuration as records: what Spring Boot binds, and the constraints on it.
 */
@NullMarked
package io.weir.config;

import org.jspecify.annotations.NullMarked;
