package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.wiring.Wiring;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.type.filter.AnnotationTypeFilter;

/** The application names its configuration classes: it reads no other class at a start. */
class WeirApplicationTest {

    @Test
    void importsEveryConfigurationClassOfTheWiring() {
        assertThat(imports(WeirApplication.class)).containsExactly(Wiring.class.getName());
        assertThat(imports(Wiring.class)).containsExactlyElementsOf(configurations());
    }

    private static Stream<String> imports(Class<?> configuration) {
        Import imports = Objects.requireNonNull(configuration.getAnnotation(Import.class));
        return Arrays.stream(imports.value()).map(Class::getName);
    }

    @Test
    void scansNoPackage() {
        assertThat(AnnotatedElementUtils.hasAnnotation(WeirApplication.class, ComponentScan.class))
                .isFalse();
    }

    /** Spring Boot searches these packages for Jackson's mix-ins. */
    @Test
    void namesAPackageWithoutClassesToAutoConfigurations() {
        String[] packages = Objects.requireNonNull(AnnotatedElementUtils.getMergedAnnotation(
                        WeirApplication.class, AutoConfigurationPackage.class))
                .basePackages();

        var scanner = new ClassPathScanningCandidateComponentProvider(false);
        scanner.addIncludeFilter((metadata, factory) -> true);
        assertThat(packages)
                .isNotEmpty()
                .allSatisfy(name ->
                        assertThat(scanner.findCandidateComponents(name)).isEmpty());
    }

    /** The configuration classes of the wiring, without nested ones, sorted. */
    private static List<String> configurations() {
        var scanner = new ClassPathScanningCandidateComponentProvider(false);
        scanner.addIncludeFilter(new AnnotationTypeFilter(Configuration.class));
        scanner.setResourcePattern("*Configuration.class");
        return scanner.findCandidateComponents("io.weir.wiring").stream()
                .map(BeanDefinition::getBeanClassName)
                .map(name -> Objects.requireNonNull(name))
                .filter(name -> !name.contains("$"))
                .sorted()
                .toList();
    }
}
