package io.weir.sim.faults;

import io.weir.sim.stack.Stack;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The faults in every stack. */
class FaultsIT {

    @Nested
    @ParameterizedClass(name = "{0}")
    @MethodSource("io.weir.sim.Simulator#stacksOfEachKind")
    class OfEachKind extends FaultsContract {
        OfEachKind(Stack stack) {
            super(stack);
        }
    }

    @Nested
    @Tag("full")
    @ParameterizedClass(name = "{0}")
    @MethodSource("io.weir.sim.Simulator#otherStacks")
    class Others extends FaultsContract {
        Others(Stack stack) {
            super(stack);
        }
    }
}
