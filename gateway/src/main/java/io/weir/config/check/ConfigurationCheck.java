package io.weir.config.check;

import io.weir.config.WeirProperties;
import io.weir.config.check.RoutesCheck.Route;
import jakarta.validation.MessageInterpolator;
import jakarta.validation.Validation;
import jakarta.validation.ValidatorFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.hibernate.validator.messageinterpolation.ParameterMessageInterpolator;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.validation.beanvalidation.SpringValidatorAdapter;

/**
 * Finds all problems of a configuration before the gateway starts or reloads with it.
 *
 * <p>It checks all properties below {@code weir.}, Spring Cloud Gateway's routes and default filters, other
 * properties that contradict a backend, and the names of Spring's properties.
 */
public final class ConfigurationCheck {

    /**
     * Created once, because its creation takes longer than a check and a reload must not slow down requests.
     */
    private static final SingletonSupplier<ValidatorFactory> VALIDATION =
            SingletonSupplier.of(() -> Validation.byDefaultProvider()
                    .configure()
                    .messageInterpolator(new ParameterMessageInterpolator())
                    .buildValidatorFactory());

    /** The prefixes below which each property name is checked. */
    private static final List<String> PREFIXES = List.of("weir", RoutesCheck.PREFIX);

    private ConfigurationCheck() {}

    /**
     * Checks the configuration of a start with these arguments: files, environment variables, the arguments,
     * and certificates.
     */
    static CheckResult resultOf(String... arguments) {
        ConfigurationSources sources = ConfigurationSources.read(arguments);
        CheckResult result = check(sources);
        return new CheckResult(result.report().withCertificates(sources), result.validValues(), result.warnings());
    }

    /**
     * The result of a check.
     *
     * @param validValues the values without a problem of their own
     * @param warnings finds the parts without effect; only {@code --validate} asks for them
     */
    record CheckResult(
            ValidationReport report, ValidValues validValues, Supplier<List<ConfigurationProblem>> warnings) {

        /** A result without warnings. */
        CheckResult(ValidationReport report, ValidValues validValues) {
            this(report, validValues, List::of);
        }
    }

    static CheckResult check(ConfigurationSources sources) {
        List<ConfigurationProblem> problems = new ArrayList<>(sources.problems());
        if (!sources.areReadable()) {
            return new CheckResult(ValidationReport.of(problems), new ValidValues());
        }
        return check(sources, VALIDATION.obtain(), problems);
    }

    private static CheckResult check(
            ConfigurationSources sources, ValidatorFactory validation, List<ConfigurationProblem> problems) {
        ConfigurableEnvironment environment = sources.environment();
        RawTree root = sources.rawTree();
        PropertiesCheck properties = new PropertiesCheck(
                environment,
                EnvironmentVariables.of(environment),
                validation
                        .usingContext()
                        .messageInterpolator(new SilentInterpolator())
                        .getValidator(),
                problems::add);
        PREFIXES.forEach(path -> reportMalformedPrefixes(root, path, problems));
        properties.checkGroup(
                "weir", PropertySchema.WEIR, RawTree.at(root, "weir"), SourceLocation.outsideFiles("configuration"));
        ValidValues validValues = properties.validValues();
        Section<WeirProperties> weir = Section.weir(validValues);
        new BackendsCheck(root, weir, problems::add).check();
        new GatewayCheck(environment, root, weir, problems::add).check();

        Supplier<GatewayFactories> factories = SingletonSupplier.of(
                () -> GatewayFactories.of(environment, new SpringValidatorAdapter(validation.getValidator())));
        DefinitionsCheck definitions = new DefinitionsCheck(environment, factories, problems::add);
        List<Route> routes = new RoutesCheck(environment, weir, definitions, problems::add).check(root);
        if (!ExtensionJars.installed().isEmpty()) {
            problems.addAll(factories.get().extensionProblems());
        }

        new ConsistencyCheck(environment, weir, problems::add).check(routes);
        new AuthorizersCheck(weir, problems::add).check(routes);
        Set<String> reported = problems.stream().map(ConfigurationProblem::path).collect(Collectors.toSet());
        new SpringPropertiesCheck(reported::contains, problems::add).check(root);
        ValidationReport report = new ValidationReport(
                problems, weir.names(WeirProperties::backends).size(), routes.size());
        return new CheckResult(report, validValues, () -> {
            List<ConfigurationProblem> warnings = new ArrayList<>(definitions.warnings());
            warnings.addAll(new WarningsCheck(environment, weir).check(routes));
            return warnings;
        });
    }

    /**
     * Reports prefixes with characters that Spring Boot ignores, such as {@code weir!}. Spring Boot binds the
     * properties below such a prefix, but this check would not find them.
     */
    private static void reportMalformedPrefixes(RawTree root, String path, List<ConfigurationProblem> problems) {
        List<RawTree> nodes = List.of(root);
        for (String element : path.split("\\.", -1)) {
            nodes.stream()
                    .flatMap(RawTree::children)
                    .filter(child -> !child.isBracketed()
                            && !child.name().equals(PropertyNames.withoutIgnoredCharacters(child.name()))
                            && PropertyNames.uniform(PropertyNames.withoutIgnoredCharacters(child.name()))
                                    .equals(element))
                    .forEach(child -> problems.add(child.problem(null, "unknown property", element)));
            nodes = RawTree.find(nodes, element);
        }
    }

    /** Returns the template unchanged, because {@link ExpectedValue} describes the expected value. */
    private static final class SilentInterpolator implements MessageInterpolator {

        @Override
        public String interpolate(String template, Context context) {
            return template;
        }

        @Override
        public String interpolate(String template, Context context, Locale locale) {
            return template;
        }
    }
}
