package io.weir.config;

import jakarta.validation.ConstraintValidator;
import jakarta.validation.ConstraintValidatorContext;
import jakarta.validation.constraints.Min;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

/**
 * Supports {@link Min} on a {@link DataSize}, in bytes. Spring Cloud Gateway contains the same support for
 * Max. Hibernate Validator finds this class as a service.
 */
public final class DataSizeMin implements ConstraintValidator<Min, DataSize> {

    private long bytes;

    @Override
    public void initialize(Min constraint) {
        bytes = constraint.value();
    }

    @Override
    public boolean isValid(@Nullable DataSize size, ConstraintValidatorContext context) {
        return size == null || size.toBytes() >= bytes;
    }
}
