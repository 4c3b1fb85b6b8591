package io.weir.config.check;

/**
 * A predicate or filter with valid arguments.
 *
 * @param config the arguments that its factory has bound
 */
record ValidDefinition(Definition definition, Object config) {}
