/**
 * The records of the configuration. Spring Boot binds them, and their annotations state types, defaults and
 * ranges.
 *
 * <p>A record that belongs to one capability lives in the package of that capability. This package contains
 * the records that compose them: the whole, a backend, a route, and the reload. The Javadoc of their
 * components becomes the configuration metadata for editors, the JSON Schema, and the tables in
 * {@code config/reference.md}. Package {@code io.weir.config.check} checks configuration files against these
 * records.
 */
@NullMarked
package io.weir.config;

import org.jspecify.annotations.NullMarked;
