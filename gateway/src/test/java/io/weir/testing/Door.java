package io.weir.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Locale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The door of a request. Tests assert the same of both doors. */
public enum Door {
    /** A compiled route. */
    COMPILED,
    /** A route through Spring Cloud Gateway's chain of filters. */
    GENERAL;

    /**
     * A test that runs for the compiled door, and in the full tier for each door: {@code DoorsDifferentialIT}
     * shows in each tier that both doors behave alike.
     */
    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    @ParameterizedTest(name = "{0}")
    @MethodSource("io.weir.testing.Tier#doors")
    public @interface Each {}

    /**
     * A test of what is behind the doors: limits, breakers, instances, connections to a backend. It runs for
     * the compiled door in both tiers. Both doors hand their calls to the same engine, which decides the
     * rest.
     */
    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    @ParameterizedTest(name = "{0}")
    @EnumSource(names = "COMPILED")
    public @interface Any {}

    /** A test in which the door matters: it runs for each door in both tiers. */
    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    @ParameterizedTest(name = "{0}")
    @EnumSource(Door.class)
    public @interface Both {}

    /** The door's word in metrics and log. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** A path of a route of {@link TestGateway.Setup#route}, for this door. */
    public String path(String route, String rest) {
        return "/" + word() + "/" + route + "/" + rest;
    }

    /** The id of a route of {@link TestGateway.Setup#route}, for this door. */
    public String id(String route) {
        return route + "-" + word();
    }
}
