package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.scenario.RefusalsScenario.Case;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.config.YamlPropertiesFactoryBean;
import org.springframework.core.io.ClassPathResource;

class RefusalsScenarioTest {

    /** The names of all backends and routes in {@code refusals.yml}, by the kind of property. */
    private static Map<String, Set<String>> configured() {
        YamlPropertiesFactoryBean yaml = new YamlPropertiesFactoryBean();
        yaml.setResources(new ClassPathResource("refusals.yml", RefusalsScenario.class));
        var properties = Objects.requireNonNull(yaml.getObject());
        return properties.stringPropertyNames().stream()
                .filter(name -> name.matches("weir\\.backends\\..*\\.uri|.*routes\\[\\d+]\\.id"))
                .collect(Collectors.groupingBy(
                        name -> name.endsWith(".id") ? "routes" : "backends",
                        Collectors.mapping(
                                name -> name.endsWith(".id")
                                        ? properties.getProperty(name)
                                        : name.replaceAll("weir\\.backends\\.(.*)\\.uri", "$1"),
                                Collectors.toCollection(TreeSet::new))));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void eachCaseHasItsBackendAndRoute(boolean quick) {
        Scenario.Options options = new Scenario.Options(Path.of("a.jar"), Path.of("a.yml"), quick, List.of());
        BreakerCases breaker = new BreakerCases(options);
        CallerCases callers = new CallerCases(options);
        List<String> cases = Stream.of(breaker.light(), List.of(breaker.heavy()), callers.light(), callers.heavy())
                .flatMap(List::stream)
                .map(Case::name)
                .toList();

        assertThat(cases).doesNotHaveDuplicates().hasSizeGreaterThan(10);
        assertThat(configured())
                .containsOnlyKeys("backends", "routes")
                .allSatisfy((kind, names) -> assertThat(names).as(kind).containsAll(cases));
    }

    @ParameterizedTest
    @ValueSource(strings = {"caller that leaves", "early hints"})
    void faultsOfCallersAndHintsDoNotCountAtTheBreaker(String name) {
        assertThat(FaultsScenario.FAULTS.readResource())
                .hasSize(14)
                .filteredOn(fault -> fault.name().equals(name))
                .singleElement()
                .satisfies(fault -> assertThat(fault.leastFailures()).isZero());
    }
}
