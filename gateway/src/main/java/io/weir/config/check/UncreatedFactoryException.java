package io.weir.config.check;

import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.core.NestedExceptionUtils;

/** Spring could not create the factory of a predicate or filter. The message says why, and names its jar. */
final class UncreatedFactoryException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final boolean isForWantOfABean;

    UncreatedFactoryException(String message, Throwable cause) {
        super(message, cause);
        isForWantOfABean = NestedExceptionUtils.getMostSpecificCause(cause) instanceof NoSuchBeanDefinitionException;
    }

    /** Whether it needs a bean that only a running gateway may have. */
    boolean isForWantOfABean() {
        return isForWantOfABean;
    }
}
