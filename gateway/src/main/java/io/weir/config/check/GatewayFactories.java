package io.weir.config.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeansException;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionBuilder;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.handler.IgnoreTopLevelConverterNotFoundBindHandler;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.webflux.autoconfigure.WebFluxProperties;
import org.springframework.cloud.gateway.config.GatewayAutoConfiguration;
import org.springframework.cloud.gateway.config.LocalResponseCacheAutoConfiguration;
import org.springframework.cloud.gateway.filter.factory.GatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.RewritePathGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.RewriteResponseHeaderGatewayFilterFactory;
import org.springframework.cloud.gateway.handler.predicate.RoutePredicateFactory;
import org.springframework.cloud.gateway.support.Configurable;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.cloud.gateway.support.HasRouteId;
import org.springframework.cloud.gateway.support.NameUtils;
import org.springframework.cloud.gateway.support.ShortcutConfigurable;
import org.springframework.cloud.gateway.support.ShortcutConfigurable.ShortcutType;
import org.springframework.cloud.gateway.support.StringToZonedDateTimeConverter;
import org.springframework.cloud.gateway.support.config.KeyValueConverter;
import org.springframework.context.annotation.AnnotatedBeanDefinitionReader;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ConfigurationClassPostProcessor;
import org.springframework.context.annotation.ContextAnnotationAutowireCandidateResolver;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.format.support.DefaultFormattingConversionService;
import org.springframework.http.codec.ServerCodecConfigurer;
import org.springframework.validation.Validator;

/**
 * Spring Cloud Gateway's factories of predicates and filters, to validate arguments with.
 *
 * <p>They come from Spring Cloud Gateway's own auto-configuration, including its conditions, but from a bean
 * factory that is never refreshed: it starts nothing, publishes no event, and creates a factory at its first
 * use. Collecting the factories takes longer than the rest of a check, so the next check reuses them. Where
 * extensions are installed, the factories come from all auto-configuration ({@link UnstartedContext}).
 */
final class GatewayFactories {

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({GatewayAutoConfiguration.class, LocalResponseCacheAutoConfiguration.class})
    static class Factories {}

    private static final Pattern CONDITION_PROPERTY = Pattern.compile(
            "spring[._](?!cloud\\.gateway\\.server\\.webflux\\.(routes|default-?filters)|config\\.).*",
            Pattern.CASE_INSENSITIVE);

    private static final String OWN_PACKAGE = "org.springframework.cloud.gateway.";

    private final DefaultListableBeanFactory beans;
    private final List<ConfigurationProblem> extensionProblems;
    private final DefaultFormattingConversionService conversion = new DefaultFormattingConversionService();
    private final ConfigurationService configuration;
    private final Map<String, String> predicates;
    private final Map<String, String> filters;
    /** Bound arguments of successful calls. A repeated call would have the same result. */
    private volatile Map<FactoryCall, Object> created = new ConcurrentHashMap<>();
    /** Results of the previous check; the next check evicts those that this check does not use. */
    private volatile Map<FactoryCall, Object> createdByPreviousCheck = Map.of();

    /**
     * The bound arguments of a factory that is none of Spring Cloud Gateway's: their meaning is not known.
     */
    record ForeignArguments(Object config) {}

    private record FactoryCall(boolean isFilter, String name, Map<String, String> args) {}

    /**
     * Factories with the values of all Spring properties, except routes, on which their conditions may
     * depend.
     */
    private record CachedFactories(Map<String, Object> properties, GatewayFactories factories) {}

    private static final AtomicReference<@Nullable CachedFactories> LAST = new AtomicReference<>();

    /**
     * The factories for an environment; reuses the previous ones if no property that they depend on has
     * changed.
     */
    static GatewayFactories of(ConfigurableEnvironment environment, Validator validator) {
        Map<String, Object> properties = conditionProperties(environment);
        CachedFactories last = LAST.get();
        if (last != null && last.properties().equals(properties)) {
            last.factories().evictUnused();
            return last.factories();
        }
        GatewayFactories made = make(environment, validator, ExtensionJars.installed());
        LAST.set(new CachedFactories(properties, made));
        return made;
    }

    private static Map<String, Object> conditionProperties(ConfigurableEnvironment environment) {
        Map<String, Object> properties = new HashMap<>();
        for (PropertySource<?> source : environment.getPropertySources()) {
            if (source instanceof EnumerablePropertySource<?> enumerable
                    && !ConfigurationPropertySources.isAttachedConfigurationPropertySource(source)) {
                for (String name : enumerable.getPropertyNames()) {
                    if (CONDITION_PROPERTY.matcher(name).matches()) {
                        properties.putIfAbsent(name, String.valueOf(environment.getProperty(name)));
                    }
                }
            }
        }
        return properties;
    }

    /** The factories; without those of the extensions if one of these cannot be loaded. */
    private static GatewayFactories make(
            ConfigurableEnvironment environment, Validator validator, ExtensionJars extensions) {
        if (extensions.isEmpty()) {
            return new GatewayFactories(ownBeans(environment), validator, List.of());
        }
        List<ConfigurationProblem> problems = new ArrayList<>(extensions.problems());
        try {
            return new GatewayFactories(UnstartedContext.beansFor(environment), validator, problems);
        } catch (RuntimeException | LinkageError e) {
            problems.add(extensions.problem(e));
            return new GatewayFactories(ownBeans(environment), validator, problems);
        }
    }

    private static DefaultListableBeanFactory ownBeans(ConfigurableEnvironment environment) {
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        beans.setAutowireCandidateResolver(new ContextAnnotationAutowireCandidateResolver());
        beans.registerResolvableDependency(BeanFactory.class, beans);
        beans.registerSingleton("environment", environment);
        register(beans, ServerCodecConfigurer.class, ServerCodecConfigurer::create);
        register(beans, WebFluxProperties.class, WebFluxProperties::new);
        new AnnotatedBeanDefinitionReader(beans, environment).register(Factories.class);
        ConfigurationClassPostProcessor processor = new ConfigurationClassPostProcessor();
        processor.setEnvironment(environment);
        processor.postProcessBeanDefinitionRegistry(beans);
        return beans;
    }

    private GatewayFactories(
            DefaultListableBeanFactory beans, Validator validator, List<ConfigurationProblem> extensionProblems) {
        this.beans = beans;
        this.extensionProblems = List.copyOf(extensionProblems);
        conversion.addConverter(new StringToZonedDateTimeConverter());
        conversion.addConverter(new KeyValueConverter());
        configuration = new ConfigurationService(beans, () -> conversion, () -> validator);
        predicates = names(
                RoutePredicateFactory.class,
                type -> NameUtils.normalizeRoutePredicateName(type.asSubclass(RoutePredicateFactory.class)));
        filters = names(
                GatewayFilterFactory.class,
                type -> NameUtils.normalizeFilterFactoryName(type.asSubclass(GatewayFilterFactory.class)));
    }

    private static <T> void register(DefaultListableBeanFactory beans, Class<T> type, Supplier<T> supplier) {
        beans.registerBeanDefinition(
                type.getName(),
                BeanDefinitionBuilder.genericBeanDefinition(type, supplier).getBeanDefinition());
    }

    /** The bean names of the factories, by the name that routes use. */
    private Map<String, String> names(Class<?> factory, Function<Class<?>, String> normalize) {
        Map<String, String> names = new TreeMap<>();
        for (String bean : beans.getBeanNamesForType(factory, true, false)) {
            Class<?> type = beans.getType(bean);
            if (type != null) {
                String name = normalize.apply(type);
                String other = names.put(name, bean);
                if (other != null) {
                    throw new IllegalStateException(
                            name + ": the name of two factories: " + type.getName() + ", " + beans.getType(other));
                }
            }
        }
        return names;
    }

    /** The extensions that cannot be loaded. */
    List<ConfigurationProblem> extensionProblems() {
        return extensionProblems;
    }

    Set<String> predicates() {
        return predicates.keySet();
    }

    Set<String> filters() {
        return filters.keySet();
    }

    /** The shortcut notation of a predicate or filter. */
    String usage(String name) {
        ShortcutConfigurable factory = predicates.containsKey(name) ? predicate(name) : filter(name);
        List<String> fields = factory.shortcutFieldOrder().stream()
                .map(field -> field.substring(field.lastIndexOf('.') + 1))
                .toList();
        return fields.isEmpty() ? name : name + '=' + String.join(",", fields);
    }

    /**
     * Creates a predicate of a known name, and returns its bound arguments.
     *
     * @throws UncreatedFactoryException if Spring cannot create the factory
     * @throws RuntimeException from Spring or Spring Cloud Gateway, if the arguments are invalid
     */
    Object makePredicate(String name, Map<String, String> args) {
        return cached(new FactoryCall(false, name, Map.copyOf(args)), () -> {
            RoutePredicateFactory<Object> factory = predicate(name);
            Object config = bind(factory, name, args);
            factory.applyAsync(config);
            return isOwn(factory) ? config : new ForeignArguments(config);
        });
    }

    /**
     * Creates a filter of a known name, and returns its bound arguments.
     *
     * @throws UncreatedFactoryException if Spring cannot create the factory
     * @throws RuntimeException from Spring or Spring Cloud Gateway, if the arguments are invalid or would
     *     fail at each request
     */
    Object makeFilter(String name, Map<String, String> args) {
        return cached(new FactoryCall(true, name, Map.copyOf(args)), () -> {
            GatewayFilterFactory<Object> factory = filter(name);
            Object config = bind(factory, name, args);
            if (config instanceof HasRouteId route) {
                route.setRouteId("route");
            }
            factory.apply(config);
            if (config instanceof RewritePathGatewayFilterFactory.Config rewrite) {
                checkReplacement(rewrite.getRegexp(), rewrite.getReplacement());
            } else if (config instanceof RewriteResponseHeaderGatewayFilterFactory.Config rewrite) {
                checkReplacement(rewrite.getRegexp(), rewrite.getReplacement());
            }
            return isOwn(factory) ? config : new ForeignArguments(config);
        });
    }

    /**
     * Applies the replacement as Spring Cloud Gateway does, which throws if it refers to a missing group. The
     * added empty alternative makes the expression match.
     */
    @SuppressWarnings({"CheckReturnValue", "ReturnValueIgnored"}) // Only the exception matters.
    private static void checkReplacement(@Nullable String regexp, @Nullable String replacement) {
        if (regexp != null && replacement != null) {
            Pattern.compile(regexp + '|').matcher("").replaceAll(replacement.replace("$\\", "$"));
        }
    }

    private Object cached(FactoryCall call, Supplier<Object> make) {
        Object cached = createdByPreviousCheck.get(call);
        return created.computeIfAbsent(call, any -> cached == null ? make.get() : cached);
    }

    /** Two concurrent checks may evict results of each other; these are then computed again. */
    private void evictUnused() {
        createdByPreviousCheck = created;
        created = new ConcurrentHashMap<>();
    }

    private static boolean isOwn(Object factory) {
        return factory.getClass().getName().startsWith(OWN_PACKAGE);
    }

    @SuppressWarnings("unchecked")
    private RoutePredicateFactory<Object> predicate(String name) {
        return factory(predicates, name, RoutePredicateFactory.class);
    }

    @SuppressWarnings("unchecked")
    private GatewayFilterFactory<Object> filter(String name) {
        return factory(filters, name, GatewayFilterFactory.class);
    }

    private <T> T factory(Map<String, String> names, String name, Class<T> type) {
        try {
            return beans.getBean(Objects.requireNonNull(names.get(name), name), type);
        } catch (BeansException | LinkageError e) {
            ExtensionJars extensions = ExtensionJars.installed();
            throw new UncreatedFactoryException(
                    extensions.isEmpty()
                            ? ExtensionJars.cause(e)
                            : extensions.problem(e).toString(),
                    e);
        }
    }

    private <F extends Configurable<Object> & ShortcutConfigurable> Object bind(
            F factory, String name, Map<String, String> args) {
        rejectUnknownArguments(factory, args);
        return configuration.with(factory).name(name).properties(args).bind();
    }

    /**
     * Spring Cloud Gateway ignores unknown arguments, unless the factory collects all arguments into a list.
     */
    private <F extends Configurable<Object> & ShortcutConfigurable> void rejectUnknownArguments(
            F factory, Map<String, String> args) {
        if (factory.shortcutType() == ShortcutType.DEFAULT) {
            Map<String, Object> normalized =
                    factory.shortcutType().normalize(args, factory, new SpelExpressionParser(), beans);
            new Binder(List.of(new MapConfigurationPropertySource(normalized)), null, conversion)
                    .bindOrCreate(
                            factory.shortcutFieldPrefix(),
                            Bindable.of(factory.getConfigClass()),
                            new NoUnboundElementsBindHandler(new IgnoreTopLevelConverterNotFoundBindHandler()));
        }
    }
}
