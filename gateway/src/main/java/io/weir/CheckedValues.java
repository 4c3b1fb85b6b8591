package io.weir;

import io.weir.config.WeirProperties;
import io.weir.config.check.CheckedConfiguration;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Gives the application the values that the check before the start has read, unless Spring Boot has read
 * other values; then these are checked, and Spring Boot binds them.
 */
record CheckedValues(CheckedConfiguration checked)
        implements ApplicationContextInitializer<ConfigurableApplicationContext> {

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        if (checked.equalsValuesOf(context.getEnvironment())) {
            context.getBeanFactory().registerSingleton("checkedConfiguration", checked);
            context.addBeanFactoryPostProcessor(this::replaceBinding);
        } else {
            CheckedConfiguration.requireValid(context.getEnvironment());
        }
    }

    /** Replaces Spring Boot's binder, which would convert and validate all values again. */
    private void replaceBinding(ConfigurableListableBeanFactory beans) {
        for (String name : beans.getBeanNamesForType(WeirProperties.class, false, false)) {
            ((AbstractBeanDefinition) beans.getBeanDefinition(name)).setInstanceSupplier(checked::weir);
        }
    }
}
