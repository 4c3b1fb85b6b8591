/**
 * The configuration: what it is bound to, and the check that finds everything that is wrong in it before anything is started.
 *
 * <h2>What it protects against</h2>
 *
 * A limit that somebody wrote and that does not apply. Spring Boot's binder and Spring Cloud Gateway pass over a good deal: an unknown name,
 * a list where a duration is expected, 64.7 calls, a filter's third argument, routes under last year's prefix, each of
 * them without a word. And what they do refuse comes one fault at a time, with a stack trace, and for YAML without the
 * file's name. Here a start ends with every fault in one report, a line for each: file and line, property, value, what was
 * expected, the nearest known name. Nothing is clamped, ignored or half applied.
 *
 * <h2>Algorithm</h2>
 *
 * <ol>
 *   <li>{@link io.weir.config.check.ConfigurationSources} reads what a start would read, by Spring Boot's own means, and looks at
 *       each YAML file on the way ({@link io.weir.config.check.YamlFile}: what does not parse, keys that are there twice, numbers in base 8
 *       and 60, the line of every key). A file with a key twice is made readable, so that the rest of it is checked too.
 *   <li>{@link io.weir.config.check.RawTree} is the tree of all names that are written, in all sources.
 *   <li>{@link io.weir.config.check.PropertySchema} is the tree of all names that there are, by reflection from the records that Spring
 *       Boot binds: names, types, {@code @DefaultValue}, and the constraints, from which {@link io.weir.config.check.ExpectedValue}
 *       makes its words. Nothing is written twice.
 *   <li>{@link io.weir.config.check.PropertiesCheck} walks both, and makes what is sound {@link io.weir.config.check.ValidValues}: values by
 *       the paths of their properties, defaults included.
 *   <li>{@link io.weir.config.check.BackendsCheck}, {@link io.weir.config.check.GatewayCheck} and {@link io.weir.config.check.ConsistencyCheck} hold
 *       what is known against each other. Only what is written contradicts: a default wait of 100 ms beside a deadline of
 *       80 ms is nobody's mistake, and the deadline ends it.
 *   <li>{@link io.weir.config.check.ConfigurationReader} does the first step for a gateway that runs. As long as only backends, routes and default
 *       filters are others, of which Spring Boot's own reading takes no notice, {@link io.weir.config.check.LoadedConfiguration} parses the
 *       files that have changed, and leaves all other sources as they were. {@link io.weir.config.check.RecordBinder} makes the
 *       records of what is known, since all of it is converted by then.
 *   <li>{@link io.weir.config.check.RoutesCheck} and {@link io.weir.config.check.DefinitionsCheck} try Spring Cloud Gateway's predicates and
 *       filters out on its own factories, arguments included, and refuse those arguments that it would ignore, or fail at with each request: a variable
 *       ({@link io.weir.config.check.TemplateVariables}) or a group that there is not.
 * </ol>
 *
 * <h2>Why this and not something else</h2>
 *
 * <ul>
 *   <li>Before the start and not in it: Spring Boot has no moment at which all properties are there, no bean is, and more than
 *       one fault can be told. {@code --validate} is the same check on another environment.
 *   <li>Spring Boot's binder with {@code ignoreUnknownFields = false} and {@code @Validated}: stops at the first group with
 *       a fault, knows no nearest name, and still takes 64.7 for 64. Validation stays on in the records, for those who
 *       bind them without this check.
 *   <li>All of Spring Boot's reading and its binder at each reload: both are made for a start. Together they were more than half of a
 *       reload's processor time, which callers notice where cores are few.
 *   <li>A YAML parser of our own in place of Spring Boot's environment: profiles, imports, placeholders, environment variables and
 *       {@code .properties} would have to be made anew, and would differ.
 *   <li>A context of Spring Cloud Gateway's own to take the factories from: refreshing it starts an HTTP client, and costs a
 *       second. The factories come from a bean factory that is never refreshed.
 *   <li>Percent stands in the constraints' messages, because no type says it.
 * </ul>
 *
 * <h2>Limitations</h2>
 *
 * <ul>
 *   <li>An unknown name in an environment variable is not reported: Kubernetes sets {@code WEIR_PORT} and the like for any service that is
 *       called {@code weir}. Values in variables are checked.
 *   <li>Of a file with profiles, what is active is checked.
 *   <li>A value that another source overrides is not checked, its name is.
 *   <li>Routes that do not come from properties are not known here.
 *   <li>Of a file that is not YAML only the first fault is found; a parser knows no more.
 * </ul>
 */
@NullMarked
package io.weir.config.check;

import org.jspecify.annotations.NullMarked;
