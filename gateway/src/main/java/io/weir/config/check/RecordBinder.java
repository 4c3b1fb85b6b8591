package io.weir.config.check;

import io.weir.config.WeirProperties;
import io.weir.config.check.PropertySchema.GroupListSchema;
import io.weir.config.check.PropertySchema.GroupSchema;
import io.weir.config.check.PropertySchema.ListSchema;
import io.weir.config.check.PropertySchema.MapSchema;
import io.weir.config.check.PropertySchema.Property;
import io.weir.config.check.PropertySchema.ValueSchema;
import io.weir.config.check.ValidValues.Entry;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;

/**
 * Creates the configuration records from valid values. The result equals that of Spring Boot's binder at
 * startup. Spring Boot's binder would convert all values again, and would read all annotations of a record
 * again for each of its components: a quarter of a reload's time and half of its allocations.
 */
final class RecordBinder {

    private final ValidValues validValues;

    RecordBinder(ValidValues validValues) {
        this.validValues = validValues;
    }

    /** All properties below {@code weir}. */
    WeirProperties weir() {
        return (WeirProperties) Objects.requireNonNull(bindGroup("weir", PropertySchema.WEIR, true, new HashSet<>()));
    }

    /**
     * A record; null if it is optional and none of its properties is configured.
     *
     * @param explicitPaths collects the paths at or below which a property is configured
     */
    private @Nullable Record bindGroup(String path, GroupSchema group, boolean isRequired, Set<String> explicitPaths) {
        List<@Nullable Object> values = new ArrayList<>();
        for (Property property : group.properties()) {
            String child = path + '.' + property.name();
            values.add(bindProperty(child, property, explicitPaths));
            if (explicitPaths.contains(child)) {
                explicitPaths.add(path);
            }
        }
        return isRequired || explicitPaths.contains(path)
                ? BeanUtils.instantiateClass(group.constructor(), values.toArray())
                : null;
    }

    private @Nullable Object bindProperty(String path, Property property, Set<String> explicitPaths) {
        boolean hasDefault = property.defaults() != null;
        return switch (property.schema()) {
            case GroupSchema group -> bindGroup(path, group, hasDefault, explicitPaths);
            case MapSchema map -> bindMap(path, map, hasDefault, explicitPaths);
            case ListSchema list -> bindList(path, list, hasDefault, explicitPaths);
            case GroupListSchema list -> bindGroupList(path, list, hasDefault, explicitPaths);
            case ValueSchema value -> bindValue(path, explicitPaths);
        };
    }

    private @Nullable Map<String, Object> bindMap(
            String path, MapSchema map, boolean hasDefault, Set<String> explicitPaths) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (String name : validValues.names(path).keySet()) {
            String child = path + '.' + name;
            Object value = map.element() instanceof GroupSchema group
                    ? bindGroup(child, group, true, explicitPaths)
                    : bindValue(child, explicitPaths);
            if (value != null) {
                values.put(name, value);
            }
        }
        if (!values.isEmpty()) {
            explicitPaths.add(path);
        }
        return values.isEmpty() && !hasDefault ? null : values;
    }

    private @Nullable Object bindList(String path, ListSchema list, boolean hasDefault, Set<String> explicitPaths) {
        List<?> values = (List<?>) bindValue(path, explicitPaths);
        if (values == null || (!hasDefault && !explicitPaths.contains(path))) {
            return null;
        }
        return list.isUnique() ? new LinkedHashSet<>(values) : values;
    }

    private @Nullable List<Object> bindGroupList(
            String path, GroupListSchema list, boolean hasDefault, Set<String> explicitPaths) {
        List<Object> values = new ArrayList<>();
        for (String index : validValues.names(path).keySet()) {
            values.add(
                    Objects.requireNonNull(bindGroup(path + '[' + index + ']', list.element(), true, explicitPaths)));
        }
        if (!values.isEmpty()) {
            explicitPaths.add(path);
        }
        return values.isEmpty() && !hasDefault ? null : values;
    }

    private @Nullable Object bindValue(String path, Set<String> explicitPaths) {
        Entry entry = validValues.get(path).orElse(null);
        if (entry != null && entry.isExplicit()) {
            explicitPaths.add(path);
        }
        return entry == null ? null : entry.value();
    }
}
