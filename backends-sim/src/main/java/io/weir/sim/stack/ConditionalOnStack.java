package io.weir.sim.stack;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Matches if {@code sim.stack} is one of the given stacks. */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Conditional(ConditionalOnStack.OnStack.class)
public @interface ConditionalOnStack {

    Stack[] value();

    /** Compares with the stack of the environment. */
    final class OnStack implements Condition {

        @Override
        public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
            MergedAnnotation<ConditionalOnStack> annotation =
                    metadata.getAnnotations().get(ConditionalOnStack.class);
            Stack stack = StackEnvironment.stackOf(context.getEnvironment());
            for (Stack wanted : annotation.getEnumArray("value", Stack.class)) {
                if (wanted == stack) {
                    return true;
                }
            }
            return false;
        }
    }
}
