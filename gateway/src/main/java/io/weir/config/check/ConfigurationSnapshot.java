package io.weir.config.check;

import io.weir.config.WeirProperties;
import io.weir.config.check.ConfigurationCheck.CheckResult;
import io.weir.config.check.RawTree.Setting;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.cloud.gateway.config.GatewayProperties;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.util.function.SingletonSupplier;

/**
 * A complete configuration at one moment: its problems, its values and the origin of each value. Thread-safe.
 */
public final class ConfigurationSnapshot {

    private static final String DEFAULT = "default";
    private static final Pattern ARGUMENT = Pattern.compile("(.*\\[\\d+])\\.args\\b.*");

    /**
     * The effective value of a property.
     *
     * @param path the property
     * @param text the value; secrets are masked
     * @param origin {@code file:line}, {@code default}, {@code operator}, or the name of another source
     */
    public record EffectiveValue(String path, String text, String origin) {}

    private final ConfigurationSources sources;
    private final Supplier<CheckResult> result;
    private final Supplier<Map<String, Setting>> changeable;
    private final Supplier<Set<String>> secretArguments = SingletonSupplier.of(this::findSecretArguments);
    private final Set<Path> searchedFiles;

    /** A configuration without known search locations. */
    ConfigurationSnapshot(ConfigurationSources sources, List<ConfigurationProblem> unreadable) {
        this(sources, unreadable, Set.of());
    }

    /**
     * A configuration.
     *
     * @param unreadable the reasons why it cannot be read; if there are any, the report contains only these
     * @param searchedFiles the files that were read, or searched for without success
     */
    ConfigurationSnapshot(
            ConfigurationSources sources, List<ConfigurationProblem> unreadable, Set<Path> searchedFiles) {
        this.sources = sources;
        this.searchedFiles = Set.copyOf(searchedFiles);
        this.result = SingletonSupplier.of(() -> unreadable.isEmpty()
                ? ConfigurationCheck.check(sources)
                : new CheckResult(ValidationReport.of(unreadable), new ValidValues()));
        this.changeable = SingletonSupplier.of(() -> effective(sources.rawTree(), ConfigurationSnapshot::isChangeable));
    }

    /** The configuration with which the running gateway started. */
    public static ConfigurationSnapshot of(ConfigurableEnvironment running) {
        return new ConfigurationSnapshot(ConfigurationSources.of(running), List.of());
    }

    /** This configuration with values of an operator, which override all other sources. */
    public ConfigurationSnapshot withOperatorValues(Map<String, String> values) {
        return new ConfigurationSnapshot(
                sources.withOverrides(SourceLocation.OPERATOR, new LinkedHashMap<>(values)), List.of());
    }

    /** Whether both have the same sources: no file changed between their reads. */
    public boolean hasSourcesOf(ConfigurationSnapshot other) {
        return sources == other.sources;
    }

    /** All problems of this configuration. */
    public ValidationReport report() {
        return result.get().report();
    }

    /** Weir's properties. Requires a configuration without problems. */
    public WeirProperties weir() {
        return new RecordBinder(result.get().validValues()).weir();
    }

    /** Spring Cloud Gateway's properties. Requires a configuration without problems. */
    public GatewayProperties gateway() {
        return new RoutesBinder(sources.environment()).gateway();
    }

    /**
     * The settings from files and from an operator, by path, except those that another source overrides. Only
     * these can change after the start.
     */
    Map<String, Setting> changeable() {
        return changeable.get();
    }

    /** The text of a setting, with placeholders resolved. */
    String text(Setting setting) {
        return sources.environment().resolvePlaceholders(setting.text());
    }

    /** The text of a setting with secrets masked. */
    String displayText(String path, Setting setting) {
        return secretArguments.get().contains(path)
                ? SecretMasking.MASK
                : SecretMasking.mask(path, setting.text(), text(setting));
    }

    /**
     * The hash of the values in the files, those that operators have overridden included. Comments, the order
     * of keys, and the split into files do not change it. Secrets are masked in it, so nobody can find out a
     * secret by trying values, and a changed secret does not change it. Placeholders are not resolved: values
     * of one machine, such as its name, would make each hash another one. The defaults in the gateway's jar
     * are not part of it.
     */
    public ConfigurationHash hash() {
        SortedMap<String, String> texts = new TreeMap<>();
        effective(sources.rawTree(), ConfigurationSnapshot::isInFile)
                .forEach((path, setting) -> texts.put(
                        path,
                        secretArguments.get().contains(path)
                                ? SecretMasking.MASK
                                : SecretMasking.mask(path, setting.text(), setting.text())));
        return ConfigurationHash.of(texts);
    }

    private static boolean isInFile(Setting setting) {
        return setting.location().isFile() && !setting.location().source().startsWith("classpath:");
    }

    /**
     * The settings of the highest precedence, by path, among the wanted ones; none where a source that cannot
     * change, such as an argument, overrides them.
     */
    private static Map<String, Setting> effective(RawTree root, Predicate<Setting> wanted) {
        Map<String, Integer> fixed = new HashMap<>();
        root.leaves()
                .flatMap(leaf -> leaf.settings().stream())
                .filter(setting -> !isChangeable(setting))
                .forEach(
                        setting -> fixed.merge(PropertyNames.uniform(setting.path()), setting.precedence(), Math::min));
        Map<String, Setting> changeable = new TreeMap<>();
        root.leaves()
                .forEach(leaf -> leaf.settings().stream()
                        .filter(wanted)
                        .filter(setting -> setting.precedence()
                                < fixed.getOrDefault(PropertyNames.uniform(setting.path()), Integer.MAX_VALUE))
                        .min(Comparator.comparingInt(Setting::precedence))
                        .ifPresent(setting -> changeable.put(leaf.path(), setting)));
        return changeable;
    }

    private static boolean isChangeable(Setting setting) {
        return setting.location().isFile() || setting.location().isOfOperator();
    }

    /**
     * The effective settings, by path, of all properties that appear in a file, on the command line, or in an
     * operator's change. The effective setting itself can have any source.
     */
    private static Map<String, Setting> effectiveSettings(RawTree root) {
        Map<String, Setting> effective = new HashMap<>();
        root.leaves()
                .flatMap(leaf -> leaf.settings().stream())
                .forEach(setting -> effective.merge(
                        PropertyNames.uniform(setting.path()),
                        setting,
                        (one, other) -> other.precedence() < one.precedence() ? other : one));
        Map<String, Setting> effectiveSettings = new TreeMap<>();
        root.leaves()
                .filter(leaf -> leaf.settings().stream().anyMatch(ConfigurationSnapshot::isReportable))
                .forEach(leaf -> effectiveSettings.put(
                        leaf.path(),
                        Objects.requireNonNull(effective.get(
                                PropertyNames.uniform(leaf.settings().getFirst().path())))));
        return effectiveSettings;
    }

    /** Most environment variables and system properties do not concern the gateway. */
    private static boolean isReportable(Setting setting) {
        return isChangeable(setting) || setting.location().source().equals(RawTreeReader.COMMAND_LINE);
    }

    /**
     * The paths of arguments, in expanded notation, of predicates and filters whose arguments contain a
     * secret. One secret argument hides the others too.
     */
    private Set<String> findSecretArguments() {
        Map<String, List<String>> arguments = new HashMap<>();
        changeable().forEach((path, setting) -> {
            Matcher argument = ARGUMENT.matcher(path);
            if (argument.matches()) {
                arguments
                        .computeIfAbsent(argument.group(1), any -> new ArrayList<>())
                        .add(path);
            }
        });
        Set<String> secretArguments = new HashSet<>();
        arguments.forEach((definition, paths) -> {
            Setting name = changeable().get(definition + ".name");
            List<Setting> settings = paths.stream()
                    .flatMap(path -> Stream.ofNullable(changeable().get(path)))
                    .toList();
            if (name != null
                    && (settings.stream().map(Setting::text).anyMatch(SecretMasking::hasSecretPlaceholder)
                            || SecretMasking.hasSecretArguments(
                                    text(name),
                                    settings.stream().map(this::text).toList()))) {
                secretArguments.addAll(paths);
            }
        });
        return secretArguments;
    }

    /** All effective values, including defaults, sorted by path; secrets are masked. */
    public List<EffectiveValue> values() {
        Map<String, EffectiveValue> values = new TreeMap<>();
        effectiveSettings(sources.rawTree()).forEach((path, setting) -> {
            if (!PropertyNames.uniform(path).startsWith("weir.")) {
                values.put(
                        path,
                        new EffectiveValue(
                                path,
                                displayText(path, setting),
                                setting.location().toString()));
            }
        });
        result.get().validValues().entries().forEach((path, entry) -> {
            String configured = entry.text();
            String text = configured == null
                    ? text(entry.value())
                    : sources.environment().resolvePlaceholders(configured);
            values.put(
                    path,
                    new EffectiveValue(
                            path,
                            SecretMasking.mask(path, configured == null ? text : configured, text),
                            entry.isExplicit() ? entry.location().toString() : DEFAULT));
        });
        return List.copyOf(values.values());
    }

    private static String text(Object value) {
        return switch (value) {
            case Duration duration ->
                DurationStyle.SIMPLE.print(
                        duration,
                        duration.toMillisPart() == 0
                                ? java.time.temporal.ChronoUnit.SECONDS
                                : java.time.temporal.ChronoUnit.MILLIS);
            case Collection<?> several ->
                several.stream().map(ConfigurationSnapshot::text).sorted().collect(Collectors.joining(","));
            default -> value.toString();
        };
    }

    /**
     * The files that were searched for, including empty, invalid and absent ones. Empty if this configuration
     * was not read from files.
     */
    public Set<Path> searchedFiles() {
        return searchedFiles;
    }

    /** The files of this configuration: those with settings, and those that the command line names. */
    public Set<Path> files() {
        Set<Path> files = new LinkedHashSet<>();
        NamedFiles.locations(sources.environment()).map(NamedFiles::toPath).forEach(files::add);
        changeable().values().stream()
                .map(Setting::location)
                .filter(location -> location.isFile() && !location.source().contains(":"))
                .map(location -> Path.of(location.source()))
                .forEach(files::add);
        return files;
    }
}
