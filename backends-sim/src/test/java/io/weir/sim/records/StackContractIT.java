package io.weir.sim.records;

import io.weir.sim.stack.Stack;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The contract of the stacks, in this JVM. Both classes run in the same JVM, so they compare their answers.
 */
class StackContractIT {

    @Nested
    @ParameterizedClass(name = "{0}")
    @MethodSource("io.weir.sim.Simulator#stacksOfEachKind")
    class OfEachKind extends StackContract {
        OfEachKind(Stack stack) {
            super(stack);
        }
    }

    @Nested
    @Tag("full")
    @ParameterizedClass(name = "{0}")
    @MethodSource("io.weir.sim.Simulator#otherStacks")
    class Others extends StackContract {
        Others(Stack stack) {
            super(stack);
        }
    }
}
