package io.weir.config.check;

import io.weir.config.check.RawTree.Setting;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.boot.origin.PropertySourceOrigin;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;

/**
 * Environment variables as Spring Boot reads them. A variable's name does not determine the property's name:
 * {@code WEIR_DRAIN_MAX_WAIT} can be {@code weir.drain.max-wait} or {@code weir.drain.max.wait}. Therefore
 * this class looks up the variable of a known property, in both spellings.
 */
final class EnvironmentVariables {

    private final @Nullable ConfigurationPropertySource source;
    private final int precedence;

    private EnvironmentVariables(@Nullable ConfigurationPropertySource source, int precedence) {
        this.source = source;
        this.precedence = precedence;
    }

    static EnvironmentVariables of(ConfigurableEnvironment environment) {
        PropertySource<?> variables =
                environment.getPropertySources().get(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME);
        return variables == null
                ? new EnvironmentVariables(null, 0)
                : new EnvironmentVariables(
                        ConfigurationPropertySource.from(variables),
                        environment.getPropertySources().precedenceOf(variables));
    }

    /** The variable of a property. */
    Optional<Setting> find(String path) {
        return setting(ConfigurationPropertyName.adapt(path, '.'));
    }

    /** Adds all variables, with dots instead of underscores. */
    void addTo(RawTree root) {
        if (source instanceof IterableConfigurationPropertySource iterable) {
            for (ConfigurationPropertyName name : iterable) {
                setting(name).ifPresent(root::add);
            }
        }
    }

    /**
     * The configured name that a variable's name means: MYSHOP means my-shop, since a variable has no dashes.
     *
     * @param configured the names outside variables
     */
    static String meantName(String name, Set<String> configured) {
        return configured.contains(name)
                ? name
                : configured.stream()
                        .filter(other -> PropertyNames.uniform(other).equals(name))
                        .findFirst()
                        .orElse(name);
    }

    private Optional<Setting> setting(ConfigurationPropertyName name) {
        ConfigurationProperty property = source == null ? null : source.getConfigurationProperty(name);
        if (property == null) {
            return Optional.empty();
        }
        String location = property.getOrigin() instanceof PropertySourceOrigin variable
                ? "environment variable " + variable.getPropertyName()
                : "environment";
        return Optional.of(new Setting(
                name.toString(), property.getValue(), SourceLocation.outsideFiles(location), precedence, null, true));
    }
}
