package io.weir.config.check;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.bind.validation.BindValidationException;
import org.springframework.cloud.gateway.support.NameUtils;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.validation.FieldError;

/** Short error texts for exceptions of Spring and Spring Cloud Gateway. */
final class SpringErrorText {

    private SpringErrorText() {}

    /** The error text for an exception that the arguments of a predicate or filter caused. */
    static String of(Throwable failure) {
        return find(failure, UnboundConfigurationPropertiesException.class)
                .map(SpringErrorText::unknownArguments)
                .or(() -> find(failure, BindValidationException.class).map(SpringErrorText::validationErrors))
                .orElseGet(() -> rootCause(failure));
    }

    private static String validationErrors(BindValidationException invalid) {
        return invalid.getValidationErrors().getAllErrors().stream()
                .map(error -> error instanceof FieldError field
                        ? field.getField() + ' ' + field.getDefaultMessage()
                        : String.valueOf(error.getDefaultMessage()))
                .sorted()
                .collect(Collectors.joining(", "));
    }

    private static String rootCause(Throwable failure) {
        Throwable root = NestedExceptionUtils.getMostSpecificCause(failure);
        String text = root instanceof PatternSyntaxException syntax
                ? "not a regular expression: " + syntax.getDescription()
                : root instanceof LinkageError
                        ? ExtensionJars.cause(root)
                        : String.valueOf(root.getMessage()).lines().findFirst().orElse("");
        return find(failure, BindException.class)
                .map(bind -> bind.getName() + ": " + conversionError(bind, text))
                .orElse(text);
    }

    private static String unknownArguments(UnboundConfigurationPropertiesException unbound) {
        List<String> names = unbound.getUnboundProperties().stream()
                .map(property -> property.getName().toString())
                .toList();
        String generated = PropertyNames.uniform(NameUtils.GENERATED_NAME_PREFIX);
        return names.stream().anyMatch(name -> PropertyNames.uniform(name).startsWith(generated))
                ? "too many arguments"
                : "unknown argument " + String.join(", ", names);
    }

    private static String conversionError(BindException failure, String otherwise) {
        Class<?> type = failure.getTarget().getType().resolve(Object.class);
        if (type.isEnum()) {
            return "expected "
                    + ExpectedValue.anyOf(Arrays.stream(type.getEnumConstants())
                            .map(String::valueOf)
                            .toList());
        }
        return type == int.class || type == Integer.class ? "expected a whole number" : otherwise;
    }

    private static <T extends Throwable> Optional<T> find(Throwable failure, Class<T> type) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (type.isInstance(cause)) {
                return Optional.of(type.cast(cause));
            }
        }
        return Optional.empty();
    }
}
