package io.weir.config.check;

import io.weir.config.WeirProperties;
import io.weir.config.check.RoutesCheck.Route;
import jakarta.validation.MessageInterpolator;
import jakarta.validation.Validation;
import jakarta.validation.ValidatorFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.hibernate.validator.messageinterpolation.ParameterMessageInterpolator;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.validation.beanvalidation.SpringValidatorAdapter;

/**
 * Finds everything that is wrong in a configuration, before anything is started with it.
 *
 * <p>Checked are all of {@code weir.}, Spring Cloud Gateway's routes and default filters, and what contradicts a backend
 * elsewhere. Other properties are not looked at.
 */
public final class ConfigurationCheck {

    /** Made once, since that takes longer than a check: a gateway that serves is not to notice a reload. */
    private static final SingletonSupplier<ValidatorFactory> VALIDATION =
            SingletonSupplier.of(() -> Validation.byDefaultProvider()
                    .configure()
                    .messageInterpolator(new ParameterMessageInterpolator())
                    .buildValidatorFactory());

    /** Made once too: to read the annotations of all properties allocates more than anything else in a check. */
    static final PropertySchema.GroupSchema WEIR_SCHEMA = PropertySchema.of(WeirProperties.class);

    /** Below them, names are checked one by one. */
    private static final List<String> PREFIXES = List.of("weir", RoutesCheck.PREFIX);

    private ConfigurationCheck() {}

    /** Checks what a start with these arguments would read: files, environment variables, and the arguments themselves. */
    public static ValidationReport ofArguments(String... arguments) {
        return check(ConfigurationSources.read(arguments)).report();
    }

    /**
     * What was found in a configuration.
     *
     * @param validValues the values that are sound
     */
    record CheckResult(ValidationReport report, ValidValues validValues) {}

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
                validation.usingContext().messageInterpolator(new SilentInterpolator()).getValidator(),
                problems::add);
        PREFIXES.forEach(path -> reportMalformedPrefixes(root, path, problems));
        properties.group("weir", WEIR_SCHEMA, RawTree.at(root, "weir"), SourceLocation.outsideFiles("configuration"));
        ValidValues validValues = properties.validValues();
        new BackendsCheck(root, validValues, problems::add).check();
        new GatewayCheck(environment, root, validValues, problems::add).check();

        Supplier<GatewayFactories> factories = SingletonSupplier.of(
                () -> GatewayFactories.of(environment, new SpringValidatorAdapter(validation.getValidator())));
        DefinitionsCheck definitions = new DefinitionsCheck(environment, factories, problems::add);
        List<Route> routes = new RoutesCheck(environment, validValues, definitions, problems::add).check(root);

        new ConsistencyCheck(environment, validValues, problems::add).check(routes);
        ValidationReport report = new ValidationReport(problems, validValues.names("weir.backends").size(), routes.size());
        return new CheckResult(report, validValues);
    }

    /** Spring Boot binds what is below a name with characters that it leaves out; here nothing of it would be found, and nothing checked. */
    private static void reportMalformedPrefixes(RawTree root, String path, List<ConfigurationProblem> problems) {
        List<RawTree> nodes = List.of(root);
        for (String element : path.split("\\.", -1)) {
            nodes.stream()
                    .flatMap(RawTree::children)
                    .filter(child -> !child.isBracketed()
                            && !child.name().equals(PropertyNames.withoutIgnoredCharacters(child.name()))
                            && PropertyNames.uniform(PropertyNames.withoutIgnoredCharacters(child.name())).equals(element))
                    .forEach(child -> problems.add(
                            new ConfigurationProblem(child.location(), child.path(), null, "unknown property", element)));
            nodes = RawTree.find(nodes, element);
        }
    }

    /** Says nothing: what was expected is said by {@link ExpectedValue}. */
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
