package io.weir.config.check;

import io.weir.config.WeirProperties;
import jakarta.validation.constraints.NotNull;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.bind.Name;
import org.springframework.util.function.SingletonSupplier;

/** The valid structure of the configuration, derived by reflection from the configuration records. */
public sealed interface PropertySchema {

    /**
     * The schema of {@code weir}. Created once, because reading the annotations of all properties allocates
     * more than the rest of a check. It reads those of a group when the group is checked for the first time.
     */
    GroupSchema WEIR = of(WeirProperties.class);

    /**
     * A record with named properties.
     *
     * @param constructor the canonical constructor, with the properties in their order
     * @param reading reads the annotations of the properties, at most once; a group that is not configured
     *     costs a start nothing
     */
    record GroupSchema(Constructor<? extends Record> constructor, Supplier<List<Property>> reading)
            implements PropertySchema {

        /** The properties in their order. */
        public List<Property> properties() {
            return reading.get();
        }

        List<String> names() {
            return properties().stream().map(Property::name).toList();
        }

        /** The relative paths of all properties at any depth, except below maps. */
        Stream<String> paths() {
            return properties().stream()
                    .flatMap(property -> property.schema() instanceof GroupSchema group
                            ? Stream.concat(
                                    Stream.of(property.name()), group.paths().map(path -> property.name() + '.' + path))
                            : Stream.of(property.name()));
        }
    }

    /** A map with user-defined names. */
    record MapSchema(PropertySchema element) implements PropertySchema {}

    /** A list of values; {@code isUnique} for a set. */
    record ListSchema(ValueSchema element, boolean isUnique) implements PropertySchema {}

    /** A list of records. */
    record GroupListSchema(GroupSchema element) implements PropertySchema {}

    /**
     * A single value.
     *
     * @param description describes the valid values, at most once; only problems and documents need it
     */
    record ValueSchema(Class<?> type, Supplier<ExpectedValue> description) implements PropertySchema {

        /** The valid values. */
        public ExpectedValue expected() {
            return description.get();
        }
    }

    /**
     * A component of a record.
     *
     * @param name the property's name, in kebab case
     * @param owner the record
     * @param component the component's name
     * @param defaults the default; a list has one element for each value; null if there is none
     * @param isRequired whether the property must be configured
     */
    record Property(
            String name,
            Class<?> owner,
            String component,
            PropertySchema schema,
            @Nullable List<String> defaults,
            boolean isRequired) {}

    /** The schema of a record. */
    static GroupSchema of(Class<? extends Record> type) {
        RecordComponent[] components = type.getRecordComponents();
        Constructor<? extends Record> constructor = canonicalConstructor(type, components);
        return new GroupSchema(constructor, SingletonSupplier.of(() -> properties(type, components, constructor)));
    }

    private static List<Property> properties(
            Class<? extends Record> type, RecordComponent[] components, Constructor<? extends Record> constructor) {
        Parameter[] parameters = constructor.getParameters();
        return IntStream.range(0, components.length)
                .mapToObj(i -> property(type, components[i], parameters[i]))
                .toList();
    }

    private static Constructor<? extends Record> canonicalConstructor(
            Class<? extends Record> type, RecordComponent[] components) {
        Class<?>[] types =
                Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
        try {
            return type.getDeclaredConstructor(types);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("a record without its canonical constructor: " + type, e);
        }
    }

    /**
     * The constructor parameter carries the annotations of the component; the component those of its type
     * arguments.
     */
    private static Property property(Class<?> owner, RecordComponent component, Parameter parameter) {
        Name name = parameter.getAnnotation(Name.class);
        DefaultValue annotation = parameter.getAnnotation(DefaultValue.class);
        @Nullable List<String> defaults = annotation == null ? null : List.of(annotation.value());
        return new Property(
                name != null ? name.value() : PropertyNames.kebabCase(component.getName()),
                owner,
                component.getName(),
                schema(component.getAnnotatedType(), parameter, defaults == null ? List.of() : defaults),
                defaults,
                parameter.isAnnotationPresent(NotNull.class));
    }

    private static PropertySchema schema(AnnotatedType annotated, AnnotatedElement constraints, List<String> defaults) {
        Class<?> type = rawType(annotated);
        if (type.isRecord()) {
            return of(type.asSubclass(Record.class));
        }
        if (annotated instanceof AnnotatedParameterizedType parameterized) {
            AnnotatedType[] arguments = parameterized.getAnnotatedActualTypeArguments();
            AnnotatedType last = arguments[arguments.length - 1];
            if (Map.class.isAssignableFrom(type)) {
                return new MapSchema(schema(last, last, List.of()));
            }
            if (List.class.isAssignableFrom(type) && rawType(last).isRecord()) {
                return new GroupListSchema(of(rawType(last).asSubclass(Record.class)));
            }
            if (Collection.class.isAssignableFrom(type)) {
                return new ListSchema(value(rawType(last), last, defaults), Set.class.isAssignableFrom(type));
            }
        }
        return value(type, constraints, defaults);
    }

    private static ValueSchema value(Class<?> type, AnnotatedElement constraints, List<String> defaults) {
        return new ValueSchema(
                type, SingletonSupplier.of(() -> ExpectedValue.of(type, constraints.getAnnotations(), defaults)));
    }

    private static Class<?> rawType(AnnotatedType annotated) {
        return switch (annotated.getType()) {
            case Class<?> type -> type;
            case ParameterizedType type -> (Class<?>) type.getRawType();
            default -> throw new IllegalStateException("a property of type " + annotated);
        };
    }
}
