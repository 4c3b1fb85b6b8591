package io.weir.wiring;

import io.weir.config.WeirProperties;
import io.weir.config.check.CheckedConfiguration;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.DefaultSingletonBeanRegistry;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Gives the application the values that the check before the start has read, unless Spring Boot has read
 * other values; then these are checked, and Spring Boot binds them.
 */
public final class CheckedValues implements ApplicationContextInitializer<ConfigurableApplicationContext> {

    /** The bean that has the checked configuration, until {@link #release}. */
    private static final String BEAN = "checkedConfiguration";

    /** Null after its use, because Spring Cloud holds the application with its initializers. */
    private @Nullable CheckedConfiguration unused;

    /** Gives these values, once. */
    public CheckedValues(CheckedConfiguration checked) {
        this.unused = checked;
    }

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        CheckedConfiguration checked = unused;
        unused = null;
        if (checked != null && checked.equalsValuesOf(context.getEnvironment())) {
            context.getBeanFactory().registerSingleton(BEAN, checked);
            // The context holds this method for its life, so it must not hold the configuration.
            context.addBeanFactoryPostProcessor(CheckedValues::replaceBinding);
        } else {
            CheckedConfiguration.requireValid(context.getEnvironment());
        }
    }

    /** Replaces Spring Boot's binder, which would convert and validate all values again. */
    private static void replaceBinding(ConfigurableListableBeanFactory beans) {
        WeirProperties weir = beans.getBean(BEAN, CheckedConfiguration.class).weir();
        for (String name : beans.getBeanNamesForType(WeirProperties.class, false, false)) {
            ((AbstractBeanDefinition) beans.getBeanDefinition(name)).setInstanceSupplier(() -> weir);
        }
    }

    /** Forgets the checked configuration, which would otherwise be held until the process ends. */
    static void release(ConfigurableListableBeanFactory beans) {
        if (beans.containsSingleton(BEAN)) {
            ((DefaultSingletonBeanRegistry) beans).destroySingleton(BEAN);
        }
    }
}
