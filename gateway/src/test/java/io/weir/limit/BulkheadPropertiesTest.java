package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.validation.Validation;
import jakarta.validation.Validator;
import jakarta.validation.ValidatorFactory;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class BulkheadPropertiesTest {

    @Test
    void defaultsAreValid() {
        BulkheadProperties properties = bind(Map.of());

        assertThat(properties)
                .isEqualTo(new BulkheadProperties(64, 32, Duration.ofMillis(100), true, BulkheadScope.GATEWAY));
        assertThat(violations(properties)).isEmpty();
    }

    @Test
    void bindsResilience4jsNames() {
        BulkheadProperties properties = bind(Map.of(
                "bulkhead.max-concurrent-calls", "20",
                "bulkhead.queue-capacity", "0",
                "bulkhead.max-wait-duration", "2s"));

        assertThat(properties)
                .isEqualTo(new BulkheadProperties(20, 0, Duration.ofSeconds(2), true, BulkheadScope.GATEWAY));
    }

    @ParameterizedTest
    @CsvSource({
        "1, 0, 0ms, ''",
        "1000000, 1000000, 1m, ''",
        "0, 0, 0ms, maxConcurrentCalls",
        "1000001, 0, 0ms, maxConcurrentCalls",
        "1, -1, 0ms, queueCapacity",
        "1, 1000001, 0ms, queueCapacity",
        "1, 0, -1ms, maxWaitDuration",
        "1, 0, 60001ms, maxWaitDuration",
    })
    void acceptsOnlyValuesInRange(String calls, String capacity, String wait, String wrong) {
        BulkheadProperties properties = bind(Map.of(
                "bulkhead.max-concurrent-calls", calls,
                "bulkhead.queue-capacity", capacity,
                "bulkhead.max-wait-duration", wait));

        assertThat(violations(properties)).isEqualTo(wrong);
    }

    private static BulkheadProperties bind(Map<String, String> yaml) {
        return new Binder(new MapConfigurationPropertySource(yaml)).bindOrCreate("bulkhead", BulkheadProperties.class);
    }

    private static String violations(BulkheadProperties properties) {
        try (ValidatorFactory factory = Validation.buildDefaultValidatorFactory()) {
            Validator validator = factory.getValidator();
            return String.join(
                    ", ",
                    validator.validate(properties).stream()
                            .map(violation -> violation.getPropertyPath().toString())
                            .toList());
        }
    }
}
