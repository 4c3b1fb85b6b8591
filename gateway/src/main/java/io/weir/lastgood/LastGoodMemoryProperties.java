package io.weir.lastgood;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * {@code weir.last-good}: the store of the last good answers of all routes.
 *
 * @param memory limit on the heap for all answers that are kept; 1MB to 64GB. Beyond it, answers that are
 *     seldom recorded or used leave first. Answers that are being recorded take at most a quarter more.
 */
public record LastGoodMemoryProperties(
        @DefaultValue("32MB") @Min(1 << 20) @Max(1L << 36) DataSize memory) {}
