package io.weir.config.check;

import io.weir.config.WeirProperties;
import io.weir.config.check.PropertySchema.GroupSchema;
import io.weir.config.check.PropertySchema.MapSchema;
import io.weir.config.check.PropertySchema.Property;
import io.weir.config.check.PropertySchema.ListSchema;
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
 * Makes the configuration's records of values that a check has found sound, the same that Spring Boot's binder makes of the environment at a
 * start. It would convert all of them once more, and has Java read the annotations of all of a record's components anew for each of them: a quarter
 * of a reload's time, and half of what it allocated.
 */
final class RecordBinder {

    private final ValidValues known;

    RecordBinder(ValidValues known) {
        this.known = known;
    }

    /** The whole. */
    WeirProperties weir() {
        return (WeirProperties) Objects.requireNonNull(group("weir", ConfigurationCheck.WEIR, true, new HashSet<>()));
    }

    /**
     * A record; null if nothing of it is written and it need not be there.
     *
     * @param written where the paths are put at and below which something is written
     */
    private @Nullable Record group(String path, GroupSchema group, boolean isThere, Set<String> written) {
        List<@Nullable Object> values = new ArrayList<>();
        for (Property property : group.properties()) {
            String child = path + '.' + property.name();
            values.add(value(child, property, written));
            if (written.contains(child)) {
                written.add(path);
            }
        }
        return isThere || written.contains(path)
                ? BeanUtils.instantiateClass(group.constructor(), values.toArray())
                : null;
    }

    private @Nullable Object value(String path, Property property, Set<String> written) {
        boolean hasDefault = property.defaults() != null;
        return switch (property.schema()) {
            case GroupSchema group -> group(path, group, hasDefault, written);
            case MapSchema named -> named(path, named, hasDefault, written);
            case ListSchema several -> several(path, several, hasDefault, written);
            case ValueSchema value -> single(path, written);
        };
    }

    private @Nullable Map<String, Object> named(String path, MapSchema named, boolean hasDefault, Set<String> written) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (String name : known.names(path).keySet()) {
            String child = path + '.' + name;
            Object value = named.element() instanceof GroupSchema group
                    ? group(child, group, true, written)
                    : single(child, written);
            if (value != null) {
                values.put(name, value);
            }
        }
        if (!values.isEmpty()) {
            written.add(path);
        }
        return values.isEmpty() && !hasDefault ? null : values;
    }

    private @Nullable Object several(String path, ListSchema several, boolean hasDefault, Set<String> written) {
        List<?> values = (List<?>) single(path, written);
        if (values == null || (!hasDefault && !written.contains(path))) {
            return null;
        }
        return several.isUnique() ? new LinkedHashSet<>(values) : values;
    }

    private @Nullable Object single(String path, Set<String> written) {
        Entry entry = known.get(path).orElse(null);
        if (entry != null && entry.isWritten()) {
            written.add(path);
        }
        return entry == null ? null : entry.value();
    }
}
