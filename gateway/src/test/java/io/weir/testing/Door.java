package io.weir.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Locale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The door that a request takes; whatever is asserted of one holds for the other. */
public enum Door {
    /** Served by the compiled door. */
    COMPILED,
    /** Through Spring Cloud Gateway's chain. */
    GENERAL;

    /** A test that is run through each door. */
    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    @ParameterizedTest(name = "{0}")
    @EnumSource(Door.class)
    public @interface Each {}

    /** As it shows in metrics and log. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** A path that leads to one of the routes of {@link TestGateway.Setup#route} through this door. */
    public String path(String route, String rest) {
        return "/" + word() + "/" + route + "/" + rest;
    }

    /** The id of such a route. */
    public String id(String route) {
        return route + "-" + word();
    }
}
