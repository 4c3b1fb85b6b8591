package io.weir.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.config.check.PropertyNames;
import io.weir.config.check.PropertySchema;
import jakarta.validation.Validation;
import jakarta.validation.ValidatorFactory;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

class WeirPropertiesTest {

    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties(WeirProperties.class)
    static class Bound {}

    private final ApplicationContextRunner context = new ApplicationContextRunner().withUserConfiguration(Bound.class);

    @Test
    void hasValidDefaults() {
        WeirProperties properties = bind(Map.of(
                "weir.backends.orders.uri", "http://orders:8080",
                "weir.routes.orders.retry.max-attempts", "2",
                "weir.routes.orders.fallback.status", "200"));

        try (ValidatorFactory validation = Validation.buildDefaultValidatorFactory()) {
            assertThat(validation.getValidator().validate(properties)).isEmpty();
        }
    }

    @Test
    void isRejectedBySpringBootTooIfInvalid() {
        context.withPropertyValues("weir.backends.orders.uri=http://orders:8080")
                .run(started -> assertThat(started).hasNotFailed());
        Stream.of("weir.backends.orders.deadline=0ms", "weir.edge.max-header-size=10B", "weir.edge.max-uri-length=2MB")
                .forEach(bad -> context.withPropertyValues("weir.backends.orders.uri=http://orders:8080", bad)
                        .run(started -> assertThat(started).hasFailed()));
    }

    @ParameterizedTest
    @MethodSource("choices")
    void bindsEveryDocumentedWordOfAnEnum(Class<?> type, String word) {
        Object value = new Binder(new MapConfigurationPropertySource(Map.of("value", word)))
                .bind("value", Bindable.of(type))
                .get();
        assertThat(PropertyNames.uniform(String.valueOf(value))).isEqualTo(PropertyNames.uniform(word));
    }

    static Stream<Object[]> choices() {
        return Stream.of(WeirProperties.class, BackendProperties.class, RouteProperties.class)
                .flatMap(type -> values(PropertySchema.of(type)))
                .flatMap(value -> value.expected().choices().stream().map(word -> new Object[] {value.type(), word}));
    }

    private static Stream<PropertySchema.ValueSchema> values(PropertySchema schema) {
        return switch (schema) {
            case PropertySchema.GroupSchema group ->
                group.properties().stream().flatMap(property -> values(property.schema()));
            case PropertySchema.MapSchema named -> values(named.element());
            case PropertySchema.GroupListSchema several -> values(several.element());
            case PropertySchema.ListSchema several -> Stream.of(several.element());
            case PropertySchema.ValueSchema value -> Stream.of(value);
        };
    }

    @Test
    void hasUnmodifiableMaps() {
        WeirProperties properties = bind(Map.of("weir.backends.orders.uri", "http://orders:8080"));

        assertThatThrownBy(() -> properties.backends().clear()).isInstanceOf(UnsupportedOperationException.class);
    }

    private static WeirProperties bind(Map<String, String> values) {
        return new Binder(List.of(new MapConfigurationPropertySource(values)))
                .bindOrCreate("weir", WeirProperties.class);
    }
}
