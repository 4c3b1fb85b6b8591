package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.validation.Validation;
import jakarta.validation.Validator;
import jakarta.validation.ValidatorFactory;
import java.time.Duration;
import java.util.HashMap;
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

        assertThat(properties).isEqualTo(properties(IntOrAuto.AUTO, IntOrAuto.AUTO, DurationOrAuto.AUTO));
        assertThat(violations(properties)).isEmpty();
    }

    @Test
    void bindsResilience4jsNames() {
        BulkheadProperties properties = bind(Map.of(
                "bulkhead.max-concurrent-calls", "20",
                "bulkhead.queue-capacity", "0",
                "bulkhead.max-wait-duration", "2s"));

        assertThat(properties)
                .isEqualTo(properties(IntOrAuto.of(20), IntOrAuto.of(0), DurationOrAuto.of(Duration.ofSeconds(2))));
    }

    @ParameterizedTest
    @CsvSource({
        "1, 0, 0ms, ''",
        "auto, auto, auto, ''",
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

    @Test
    void adaptsByDefaultAndWaitsForHalfTheDeadline() {
        BulkheadProperties properties = bind(Map.of());

        assertThat(properties.settings(1, 800))
                .isEqualTo(LimitSettings.adaptive(new LimitBounds(2, 1000, 8), LimitSettings.AUTO, 800));
        assertThat(properties.maxWait(Duration.ofMillis(800))).isEqualTo(Duration.ofMillis(400));
        assertThat(properties.largestLimit()).isEqualTo(1000);
    }

    @Test
    void keepsTheQueueOfFixedLimits() {
        BulkheadProperties properties = bind(Map.of("bulkhead.max-concurrent-calls", "64"));

        assertThat(properties.settings(64, 800)).isEqualTo(LimitSettings.fixed(64, 32));
        assertThat(properties.maxWait(Duration.ofMillis(800))).isEqualTo(Duration.ofMillis(100));
    }

    @ParameterizedTest
    @CsvSource({
        "'', '', '', 2, 1000, 8",
        "3, 50, 20, 3, 50, 20",
        "20, '', '', 20, 1000, 20",
        "2000, '', '', 2000, 2000, 2000",
        "'', 5, '', 2, 5, 5",
        "'', 1, '', 1, 1, 1",
        "'', '', 1, 1, 1000, 1",
        "'', '', 1500, 2, 1500, 1500",
    })
    void givesDefaultBoundsWayToConfiguredOnes(String min, String max, String initial, int from, int to, int first) {
        Map<String, String> yaml = new HashMap<>(Map.of("bulkhead.limit.min", min, "bulkhead.limit.max", max));
        yaml.put("bulkhead.limit.initial", initial);
        yaml.values().removeIf(String::isEmpty);

        assertThat(bind(yaml).limit().bounds()).isEqualTo(new LimitBounds(from, to, first));
    }

    private static BulkheadProperties properties(IntOrAuto calls, IntOrAuto queue, DurationOrAuto wait) {
        return new BulkheadProperties(
                calls, queue, wait, new AdaptiveLimitProperties(null, null, null), true, BulkheadScope.GATEWAY);
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
