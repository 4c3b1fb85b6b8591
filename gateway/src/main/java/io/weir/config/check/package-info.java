/**
 * Checks the configuration before a start or a reload, and reports all problems at once.
 *
 * <h2>What it protects against</h2>
 *
 * A configured limit without effect. Spring Boot's binder and Spring Cloud Gateway silently ignore many
 * mistakes: an unknown name, a list in place of a duration, the fraction of 64.7 calls, a filter's third
 * argument, routes below the prefix of an earlier version. They report other mistakes only one at a time,
 * with a stack trace, and for YAML without the file's name. This package reports all problems in one report,
 * one line each: file and line, property, value, expected value, and the most similar known name. Nothing is
 * clamped, ignored or partially applied.
 *
 * <h2>Algorithm</h2>
 *
 * <ol>
 *   <li>{@link io.weir.config.check.ConfigurationSources} loads the configuration through Spring Boot as at
 *       startup. It first checks each YAML file ({@link io.weir.config.check.YamlFile}): syntax errors,
 *       duplicate keys, numbers in base 8 and 60, and the line of every key. Duplicate keys are merged, so
 *       that the rest of the file can be checked too.
 *   <li>{@link io.weir.config.check.RawTree} is the tree of all configured names, from all sources.
 *   <li>{@link io.weir.config.check.PropertySchema} is the tree of all valid names, derived by reflection
 *       from the records that Spring Boot binds: names, types, {@code @DefaultValue} and constraints.
 *       {@link io.weir.config.check.ExpectedValue} derives the texts of problems from these. So no rule
 *       exists twice.
 *   <li>{@link io.weir.config.check.PropertiesCheck} compares both trees. It collects the valid values,
 *       including defaults, by property path as {@link io.weir.config.check.ValidValues}.
 *   <li>{@link io.weir.config.check.BackendsCheck}, {@link io.weir.config.check.GatewayCheck} and
 *       {@link io.weir.config.check.ConsistencyCheck} compare valid values with each other. They name a
 *       property by the accessor of its record ({@link io.weir.config.check.Section}), so that the compiler
 *       finds each check of a renamed one. Only explicit
 *       values can contradict each other: a default wait of 100 ms with a deadline of 80 ms is valid, because
 *       the deadline ends the wait.
 *   <li>{@link io.weir.config.check.RoutesCheck} and {@link io.weir.config.check.DefinitionsCheck} create the
 *       predicates and filters with Spring Cloud Gateway's own factories. They also reject arguments that
 *       Spring Cloud Gateway would ignore, and arguments that would fail at each request: a missing variable
 *       ({@link io.weir.config.check.TemplateVariables}) or a missing group.
 *   <li>{@link io.weir.config.check.ExtensionJars} finds the jars of extensions. If there are any, the
 *       factories come from all auto-configuration ({@link io.weir.config.check.UnstartedContext}), with its
 *       conditions; a jar whose classes cannot be loaded is a problem that names the jar and the cause.
 *   <li>{@link io.weir.config.check.SpringPropertiesCheck} compares the names of Spring's properties with the
 *       metadata in the jars ({@link io.weir.config.check.SpringPropertyNames}), which the first check of a
 *       process reads: about 25 files with 1300 names.
 *   <li>{@link io.weir.config.check.CertificatesCheck} reads certificates and keys as a start does, before a
 *       start and with {@code --validate} only.
 *   <li>{@link io.weir.config.check.ConfigurationReader} does the first step for a running gateway; it keeps
 *       the last configuration while no file changes ({@link io.weir.config.check.LoadedConfiguration}).
 *       {@link io.weir.config.check.RecordBinder} creates the records from the
 *       valid values, which are already converted.
 *   <li>{@link io.weir.config.check.RoutesBinder} binds Spring Cloud Gateway's properties at starts and
 *       reloads, with Spring Boot's binder, but in a time that is proportional to the number of routes.
 *   <li>{@link io.weir.config.check.CheckedConfiguration} gives a start the records, the tree of all
 *       configured names and the texts of the files that the check has read, if Spring Boot has read the same
 *       values. If a file has changed or appeared between the two, or an extension has added values, these
 *       are checked, and the start binds them or fails.
 * </ol>
 *
 * <h2>Why this and not something else</h2>
 *
 * <ul>
 *   <li>The check precedes the start: Spring Boot has no phase in which all properties exist, no bean exists,
 *       and several problems can be reported. {@code --validate} runs the same check with another
 *       environment.
 *   <li>Spring Boot's binder with {@code ignoreUnknownFields = false} and {@code @Validated}: it stops at the
 *       first group with a problem, suggests no name, and still converts 64.7 to 64. The records keep their
 *       validation for callers that bind them without this check.
 *   <li>A load of only the changed files at a reload: 110 lines that guess what Spring Boot's loading depends
 *       on. With 10 000 routes they saved 4 to 7 percent of a reload's CPU time.
 *   <li>Spring Boot's binder with a handler that collects all failures, in place of
 *       {@link io.weir.config.check.PropertiesCheck} and {@link io.weir.config.check.RecordBinder}: a handler
 *       sees converted values and the lines of values, but not the lines of keys, the original spelling, or a
 *       property in a place where the binder looks for none. So both trees would remain. Even with the names
 *       of one backend or route at a time, it used 2.7 s of CPU time for 200 backends and 1000 routes, and
 *       0.6 s when warm; the two classes use 2.1 and 0.5 s, problems and constraints included.
 *   <li>Spring Boot's binder alone for Spring Cloud Gateway's properties: for each list and each map in a
 *       route it reads the names of all properties. With 10 000 routes this took more than a third of the CPU
 *       time of a start. A reader of our own would have to reimplement relaxed names, placeholders and
 *       origins.
 *   <li>A YAML loader of our own in place of Spring Boot's environment: it would have to reimplement
 *       profiles, imports, placeholders, environment variables and {@code .properties}, and would behave
 *       differently.
 *   <li>A separate application context for Spring Cloud Gateway's factories: its refresh starts an HTTP
 *       client and takes a second. The factories come from a bean factory that is never refreshed.
 *   <li>Extensions in a class loader of their own: a library of the gateway, such as Spring Cloud Gateway,
 *       could not use the classes of a jar beside it, such as Spring Data Redis. Spring Boot's launcher
 *       appends the jars to the one class path instead. The image has no launcher, since an AOT cache fits
 *       only Java's own class path; there the jars are appended by {@code -cp}.
 *   <li>Only the auto-configuration of the extensions in the check: their conditions may depend on beans of
 *       Spring Boot's, so that a filter would be unknown in the check and known at the start.
 *   <li>A list of Spring's property names from the build: it would not have the names of the jars that an
 *       installation adds, and their properties would be refused.
 *   <li>A JSON reader of our own for the metadata: 190 lines that save half a second of the CPU time of a
 *       check in a new JVM. A start loads Jackson anyway.
 *   <li>A type for percentages: there is none, so the messages of the constraints state the unit.
 * </ul>
 *
 * <h2>The JSON Schema</h2>
 *
 * Editors use {@code config/weir.schema.json}. Test code of 160 lines generates it from
 * {@link io.weir.config.check.PropertySchema}. A library was measured as an alternative:
 * {@code jsonschema-generator} 4.38 of victools, with its module for Jakarta Validation. 95 lines with it
 * produced a schema without the 88 descriptions, the 65 defaults and the 34 patterns of scalars; with these
 * it needs about as many lines as the present code, and one more library. In this schema almost no type has
 * its standard form: a scalar may also be a placeholder, a list may be comma-separated text, names with dots
 * are valid, defaults are annotations of parameters, and descriptions come from the configuration metadata.
 * So each type needs a custom definition.
 *
 * <h2>Limitations</h2>
 *
 * <ul>
 *   <li>An unknown name in an environment variable is not reported, because Kubernetes sets variables such as
 *       {@code WEIR_PORT} for a service named {@code weir}. Values in variables are checked.
 *   <li>Of most of Spring's properties only the names are checked. An unknown name below {@code spring.} is
 *       reported only if it resembles a known one, because Spring reads some properties without metadata.
 *   <li>Only the active documents of a file with profiles are checked.
 *   <li>A value that another source overrides is not checked; its name is.
 *   <li>A filter of an extension that needs a bean of a running gateway is checked at the start only.
 *   <li>Routes from other sources than properties are not checked.
 *   <li>The check resolves placeholders, so {@code PID} and {@code spring.application.pid}, which Spring Boot
 *       sets later, have their defaults.
 *   <li>If a file changes between the check and the start, the second check does not find what only the text
 *       of a YAML file shows: numbers in base 8 and 60.
 *   <li>For a file with a syntax error only the first error is reported, because the parser stops there.
 * </ul>
 */
@NullMarked
package io.weir.config.check;

import org.jspecify.annotations.NullMarked;
