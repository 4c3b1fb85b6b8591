package io.weir.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotNull;
import java.net.URI;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.instances[]}: one instance of a backend.
 *
 * @param uri address of the instance: {@code http://host:port} or {@code https://host:port}, without a path.
 *     Required.
 * @param weight share of the calls, relative to the weights of the other instances; 1 to 1000.
 * @param backup whether the instance gets calls only while no other one can take them: all instances that are
 *     no backups are ejected or drained, or are in their ramps and have no room. At least one instance of a
 *     backend is no backup. Default: false.
 */
public record InstanceProperties(
        @NotNull URI uri,
        @DefaultValue("1") @Min(1) @Max(1000) int weight,
        @DefaultValue("false") boolean backup) {}
