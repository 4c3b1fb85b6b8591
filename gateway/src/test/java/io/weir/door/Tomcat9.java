package io.weir.door;

import java.io.PrintWriter;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Tomcat 9 in a class loader of its own, since the class path has a newer one. It is used by reflection:
 * the names of its servlet classes begin with {@code javax}. The build copies its jars.
 */
final class Tomcat9 {

    private static final Path JARS = Path.of("target", "tomcat-9");

    private final URLClassLoader loader;
    private final Object tomcat;

    /**
     * Starts one on a free port.
     *
     * @param served the text of the servlet for {@code /admin/*}
     */
    Tomcat9(Path directory, String served) throws Exception {
        loader = new URLClassLoader(jars(), ClassLoader.getPlatformClassLoader());
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            // A JVM has one factory, and the newer Tomcat may have set its own.
            type("catalina.webresources.TomcatURLStreamHandlerFactory")
                    .getMethod("disable")
                    .invoke(null);
            tomcat = type("catalina.startup.Tomcat").getConstructor().newInstance();
            call(tomcat, "setBaseDir", String.class, directory.toString());
            call(tomcat, "setPort", int.class, 0);
            Object context = type("catalina.startup.Tomcat")
                    .getMethod("addContext", String.class, String.class)
                    .invoke(tomcat, "", directory.toString());
            addServlet(context, served, "/admin/*");
            addServlet(context, "other", "/*");
            Object connector = connector();
            type("catalina.connector.Connector")
                    .getMethod("setProperty", String.class, String.class)
                    .invoke(connector, "address", "127.0.0.1");
            type("catalina.startup.Tomcat").getMethod("start").invoke(tomcat);
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private static URL[] jars() throws Exception {
        List<URL> urls = new ArrayList<>();
        try (Stream<Path> files = Files.list(JARS)) {
            for (Path jar : files.toList()) {
                urls.add(jar.toUri().toURL());
            }
        }
        return urls.toArray(URL[]::new);
    }

    private Class<?> type(String name) throws ClassNotFoundException {
        return loader.loadClass("org.apache." + name);
    }

    private static void call(Object target, String method, Class<?> type, Object argument) throws Exception {
        target.getClass().getMethod(method, type).invoke(target, argument);
    }

    private Object connector() throws Exception {
        return type("catalina.startup.Tomcat").getMethod("getConnector").invoke(tomcat);
    }

    private void addServlet(Object context, String text, String mapping) throws Exception {
        Class<?> servlet = loader.loadClass("javax.servlet.Servlet");
        Method writer = loader.loadClass("javax.servlet.ServletResponse").getMethod("getWriter");
        InvocationHandler handler = (proxy, method, arguments) -> invoke(writer, text, proxy, method, arguments);
        Object wrapper = type("catalina.startup.Tomcat")
                .getMethod("addServlet", type("catalina.Context"), String.class, servlet)
                .invoke(null, context, text, Proxy.newProxyInstance(loader, new Class<?>[] {servlet}, handler));
        type("catalina.Wrapper").getMethod("addMapping", String.class).invoke(wrapper, mapping);
    }

    private static @Nullable Object invoke(
            Method writer, String text, Object proxy, Method method, Object @Nullable [] arguments)
            throws IllegalAccessException, InvocationTargetException {
        switch (method.getName()) {
            case "service" -> {
                if (arguments != null) {
                    ((PrintWriter) writer.invoke(arguments[1])).write(text);
                }
                return null;
            }
            case "hashCode" -> {
                return System.identityHashCode(proxy);
            }
            case "equals" -> {
                return arguments != null && proxy == arguments[0];
            }
            case "toString" -> {
                return text;
            }
            default -> {
                return null;
            }
        }
    }

    int port() throws Exception {
        return (int)
                type("catalina.connector.Connector").getMethod("getLocalPort").invoke(connector());
    }

    void stop() throws Exception {
        type("catalina.startup.Tomcat").getMethod("stop").invoke(tomcat);
        type("catalina.startup.Tomcat").getMethod("destroy").invoke(tomcat);
        loader.close();
    }
}
