package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.config.check.PropertySchema.GroupSchema;
import io.weir.config.check.PropertySchema.ValueSchema;
import org.junit.jupiter.api.Test;

/** A start pays only for the groups that are configured. */
class PropertySchemaTest {

    /** No property can have the type of {@code value}, so that reading the group fails. */
    record Unreadable<T>(T value) {}

    /** No property can have this type, so that describing its values fails. */
    record Undescribed(StringBuilder value) {}

    record Settings(int number, Unreadable<String> absent, Undescribed group) {}

    @Test
    void readsNoGroupThatIsNotAskedFor() {
        GroupSchema settings = PropertySchema.of(Settings.class);

        assertThat(settings.names()).containsExactly("number", "absent", "group");
        GroupSchema absent = (GroupSchema) settings.properties().get(1).schema();
        assertThatThrownBy(absent::properties).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void describesNoValuesThatAreNotAskedFor() {
        GroupSchema group = PropertySchema.of(Undescribed.class);

        ValueSchema value = (ValueSchema) group.properties().getFirst().schema();
        assertThat(value.type()).isEqualTo(StringBuilder.class);
        assertThatThrownBy(value::expected)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("unsupported type");
    }

    @Test
    void readsAGroupOnce() {
        GroupSchema settings = PropertySchema.of(Undescribed.class);

        assertThat(settings.properties()).isSameAs(settings.properties());
    }
}
