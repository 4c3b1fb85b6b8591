package io.weir.config.check;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.boot.web.context.reactive.GenericReactiveWebApplicationContext;
import org.springframework.context.annotation.AnnotatedBeanDefinitionReader;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.ConfigurableEnvironment;

/**
 * The beans of all auto-configuration, with that of the extensions, as definitions: a bean is created when
 * somebody asks for it. Nothing is started, and no event is published.
 *
 * <p>The conditions are the same as at a start, except that the gateway's own beans are absent.
 */
final class UnstartedContext extends GenericReactiveWebApplicationContext {

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class AllAutoConfiguration {}

    private UnstartedContext(ConfigurableEnvironment environment) {
        setEnvironment(environment);
        setAllowBeanDefinitionOverriding(false);
        new AnnotatedBeanDefinitionReader(this, environment).register(AllAutoConfiguration.class);
    }

    /**
     * Collects the definitions.
     *
     * @throws RuntimeException if an auto-configuration fails
     * @throws LinkageError if a class of one cannot be loaded
     */
    static DefaultListableBeanFactory beansFor(ConfigurableEnvironment environment) {
        UnstartedContext context = new UnstartedContext(environment);
        context.refresh();
        return context.getDefaultListableBeanFactory();
    }

    @Override
    protected void registerListeners() {
        // No event is published.
    }

    /** Creates no bean, in contrast to a start. */
    @Override
    protected void finishBeanFactoryInitialization(ConfigurableListableBeanFactory beans) {
        beans.setConversionService(ApplicationConversionService.getSharedInstance());
        beans.addEmbeddedValueResolver(getEnvironment()::resolvePlaceholders);
    }

    @Override
    protected void finishRefresh() {
        // Nothing is started.
    }
}
