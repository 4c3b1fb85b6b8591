package io.weir.sim.stack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URL;
import java.net.URLClassLoader;
import org.junit.jupiter.api.Test;

class StackTest {

    private static final ClassLoader ALL = StackTest.class.getClassLoader();

    /** A class loader that finds no class with this prefix. */
    private static ClassLoader without(String prefix) {
        return new URLClassLoader(new URL[0], ALL) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (name.startsWith(prefix)) {
                    throw new ClassNotFoundException(name);
                }
                return super.loadClass(name, resolve);
            }
        };
    }

    @Test
    void idIsTheConfiguredName() {
        assertThat(Stack.of("mvc-jdbc-virtual", ALL)).isEqualTo(Stack.MVC_JDBC_VIRTUAL);
        assertThat(Stack.MVC_JDBC_VIRTUAL.id()).isEqualTo("mvc-jdbc-virtual");
        assertThat(Stack.availableIn(ALL)).containsExactly(Stack.values());
    }

    @Test
    void refusesAnUnknownName() {
        assertThatThrownBy(() -> Stack.of("webflux", ALL))
                .hasMessage("sim.stack: webflux (expected one of: mvc-jdbc, mvc-jdbc-virtual, mvc-r2dbc, webflux-jdbc, "
                        + "webflux-r2dbc, postgres)");
    }

    @Test
    void refusesAStackWhoseLibrariesAreMissing() {
        assertThatThrownBy(() -> Stack.of("mvc-jdbc", without("org.springframework.web.servlet.")))
                .hasMessage("sim.stack: mvc-jdbc (expected one of: webflux-jdbc, webflux-r2dbc, postgres); "
                        + "this jar does not contain the libraries of mvc-jdbc");
        assertThat(Stack.availableIn(without("com.zaxxer."))).doesNotContain(Stack.MVC_JDBC, Stack.WEBFLUX_JDBC);
    }
}
