package io.weir.config.check;

import io.weir.config.WeirProperties;
import io.weir.config.check.ValidValues.Entry;
import java.io.Serializable;
import java.lang.invoke.SerializedLambda;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The valid values of one record of the configuration, by its components. A component is named by its
 * accessor, such as {@code BackendProperties::deadline}: after a renaming, the compiler finds each check of
 * it.
 */
record Section<R extends Record>(ValidValues values, String path) {

    /** A component of a record; a reference to its accessor. Serializable, so that its name can be read. */
    interface Component<R extends Record, T> extends Serializable {

        @Nullable
        T of(R owner);
    }

    /** The properties' names. Bounded by the references in the code, each of which has one class. */
    private static final Map<Class<?>, String> NAMES = new ConcurrentHashMap<>();

    /** All properties. */
    static Section<WeirProperties> weir(ValidValues values) {
        return new Section<>(values, "weir");
    }

    /** The record in a component. */
    <S extends Record> Section<S> in(Component<R, S> component) {
        return new Section<>(values, pathOf(component));
    }

    /** The record with a user-defined name in a map. */
    <S extends Record> Section<S> in(Component<R, Map<String, S>> component, String name) {
        return new Section<>(values, pathOf(component) + '.' + name);
    }

    /** The records in a map, by their user-defined names. */
    <S extends Record> Stream<Map.Entry<String, Section<S>>> each(Component<R, Map<String, S>> component) {
        return names(component).keySet().stream().map(name -> Map.entry(name, in(component, name)));
    }

    /** The record with an index in a list. */
    <S extends Record> Section<S> at(Component<R, List<S>> component, String index) {
        return new Section<>(values, pathOf(component) + '[' + index + ']');
    }

    /** The indexes of a list of records, with their locations. */
    Map<String, SourceLocation> indexes(Component<R, ? extends List<? extends Record>> component) {
        return values.names(pathOf(component));
    }

    /** The configured values in a map of single values. */
    Stream<Entry> entries(Component<R, ? extends Map<String, ?>> component) {
        String map = pathOf(component);
        return values.names(map).keySet().stream().flatMap(name -> values.get(map + '.' + name).stream());
    }

    /** The values of a list or set; empty if it is invalid, or not configured and without default. */
    @SuppressWarnings("unchecked") // The check has converted the elements.
    <E> List<E> list(Component<R, ? extends Collection<E>> component) {
        return get(component).map(entry -> (List<E>) entry.value()).orElse(List.of());
    }

    /** The user-defined names in a map, with their locations. */
    Map<String, SourceLocation> names(Component<R, ? extends Map<String, ?>> component) {
        return values.names(pathOf(component));
    }

    /** A value; empty if it is invalid, or not configured and without default. */
    Optional<Entry> get(Component<R, ?> component) {
        return values.get(pathOf(component));
    }

    /** A configured value; empty for a default. */
    Optional<Entry> explicit(Component<R, ?> component) {
        return get(component).filter(Entry::isExplicit);
    }

    /** A value or its default; empty if it is invalid, or not configured and without default. */
    @SuppressWarnings("unchecked") // The check has converted the value to the component's type.
    <T> Optional<T> value(Component<R, T> component) {
        return (Optional<T>) get(component).map(Entry::value);
    }

    /** The path of a component, in canonical spelling. */
    String pathOf(Component<R, ?> component) {
        return path + '.' + NAMES.computeIfAbsent(component.getClass(), any -> nameOf(component));
    }

    private static String nameOf(Component<?, ?> component) {
        try {
            Method serialized = component.getClass().getDeclaredMethod("writeReplace");
            serialized.setAccessible(true);
            String accessor = ((SerializedLambda) serialized.invoke(component)).getImplMethodName();
            if (accessor.contains("$")) {
                throw new IllegalStateException(accessor + ": no component (expected: a reference to an accessor)");
            }
            return PropertyNames.kebabCase(accessor);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("no name (expected: a reference to an accessor)", e);
        }
    }
}
