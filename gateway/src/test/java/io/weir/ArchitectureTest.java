package io.weir;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.conditions.ArchConditions.accessTargetWhere;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.ArchConfiguration;
import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

class ArchitectureTest {

    /**
     * Each capability and room of the engine, and the others that it may use besides {@code outcome} and
     * {@code deadline}.
     */
    private static final Map<String, Set<String>> CAPABILITIES = Map.ofEntries(
            Map.entry("outcome", Set.of()),
            Map.entry("deadline", Set.of()),
            Map.entry("limit", Set.of()),
            Map.entry("capacity", Set.of()),
            Map.entry("health", Set.of()),
            Map.entry("retry", Set.of()),
            // The buckets of its histogram.
            Map.entry("hedge", Set.of("limit")),
            Map.entry("body", Set.of()),
            Map.entry("websocket", Set.of()),
            Map.entry("probe", Set.of("health", "instance", "faults", "retry", "capacity")),
            // The compartment of streams.
            Map.entry("slowcaller", Set.of("limit")),
            Map.entry("instance", Set.of("health", "capacity")),
            // Requests are refused by their priority.
            Map.entry("overload", Set.of("limit")),
            Map.entry("drain", Set.of()),
            Map.entry("cluster", Set.of()),
            Map.entry("ratelimit", Set.of()),
            Map.entry("faults", Set.of()),
            Map.entry("cors", Set.of()),
            Map.entry("compression", Set.of()),
            Map.entry("errorpage", Set.of()),
            // What drains closes connections.
            Map.entry("edge", Set.of("drain")),
            // Networks.
            Map.entry("access", Set.of("edge")),
            Map.entry("authentication", Set.of()),
            // Spellings of fields.
            Map.entry("authorization", Set.of("edge")),
            Map.entry("lastgood", Set.of()),
            // A fallback has a bulkhead of its own.
            Map.entry("fallback", Set.of("limit")));

    private static final JavaClasses all = ArchConfiguration.withThreadLocalScope(configuration -> {
        // The rules name the classes of libraries, and read none of them.
        configuration.setResolveMissingDependenciesFromClassPath(false);
        return new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("io.weir");
    });

    @Test
    void packagesHaveNoCycles() {
        slices().matching("io.weir.(*)..").should().beFreeOfCycles().check(all);
    }

    /** The packages that have a circle of more than two classes, and what this circle is. */
    private static final Map<String, String> CIRCLES = Map.of(
            "io.weir.engine", "an exchange with its phases",
            "io.weir.health", "a breaker with the group of its instances");

    /** A class and a part of it may refer to each other; three classes would give a reader no beginning. */
    @Test
    void packagesHaveNoLargeCircles() {
        Map<String, Set<String>> circles = new TreeMap<>();
        for (JavaPackage one : all.getPackage("io.weir").getSubpackagesInTree()) {
            Map<JavaClass, Set<JavaClass>> used = used(one);
            for (JavaClass start : used.keySet()) {
                Set<JavaClass> circle = reached(start, used);
                circle.removeIf(other -> !reached(other, used).contains(start));
                if (circle.size() > 2) {
                    circle.forEach(member -> circles.computeIfAbsent(one.getName(), name -> new TreeSet<>())
                            .add(member.getSimpleName()));
                }
            }
        }
        assertThat(circles.keySet()).as("circles: %s", circles).isEqualTo(CIRCLES.keySet());
    }

    /** The classes of its package that each class uses; nested classes belong to the outer one. */
    private static Map<JavaClass, Set<JavaClass>> used(JavaPackage one) {
        Map<JavaClass, Set<JavaClass>> used = new HashMap<>();
        for (JavaClass each : one.getClasses()) {
            JavaClass outer = outer(each);
            Set<JavaClass> targets = used.computeIfAbsent(outer, name -> new HashSet<>());
            each.getDirectDependenciesFromSelf().stream()
                    .map(dependency -> outer(dependency.getTargetClass().getBaseComponentType()))
                    .filter(target -> target.getPackageName().equals(one.getName()) && !target.equals(outer))
                    .forEach(targets::add);
        }
        return used;
    }

    private static JavaClass outer(JavaClass nested) {
        return nested.getEnclosingClass().map(ArchitectureTest::outer).orElse(nested);
    }

    private static Set<JavaClass> reached(JavaClass start, Map<JavaClass, Set<JavaClass>> used) {
        Set<JavaClass> reached = new HashSet<>();
        Deque<JavaClass> next = new ArrayDeque<>(used.getOrDefault(start, Set.of()));
        while (!next.isEmpty()) {
            JavaClass each = next.pop();
            if (reached.add(each)) {
                next.addAll(used.getOrDefault(each, Set.of()));
            }
        }
        return reached;
    }

    /** The floors of the house, from the top down. */
    private static final List<Set<String>> FLOORS = List.of(
            Set.of("wiring", "warmup"),
            Set.of("apply", "reload", "config", "config.check"),
            Set.of("dashboard", "fleet", "management", "metrics", "accesslog", "tracing"),
            Set.of("door"),
            Set.of("engine", "body", "websocket", "probe", "slowcaller"),
            Set.of(
                    "health",
                    "limit",
                    "capacity",
                    "instance",
                    "retry",
                    "hedge",
                    "fallback",
                    "lastgood",
                    "overload",
                    "ratelimit",
                    "faults",
                    "access",
                    "cors",
                    "compression",
                    "errorpage",
                    "authentication",
                    "authorization",
                    "edge",
                    "cluster",
                    "drain"),
            Set.of("outcome", "deadline"));

    @Test
    void everyPackageHasAFloor() {
        Set<String> packages = all.stream()
                .map(one -> one.getPackageName().replaceFirst("^io\\.weir\\.?", ""))
                .filter(name -> !name.isEmpty())
                .collect(Collectors.toSet());
        assertThat(FLOORS.stream().flatMap(Set::stream)).containsExactlyInAnyOrderElementsOf(packages);
    }

    @Test
    void dependenciesPointDownwards() {
        for (int floor = 1; floor < FLOORS.size(); floor++) {
            String[] above = names(FLOORS.subList(0, floor));
            noClasses()
                    .that()
                    .resideInAnyPackage(names(FLOORS.subList(floor, FLOORS.size())))
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(above)
                    .check(all);
        }
    }

    private static String[] names(List<Set<String>> floors) {
        return floors.stream()
                .flatMap(Set::stream)
                .map(name -> "io.weir." + name)
                .toArray(String[]::new);
    }

    @Test
    void nothingDependsOnTheApplication() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.weir")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.weir")
                .check(all);
    }

    @Test
    void capabilitiesDoNotSeeEachOther() {
        CAPABILITIES.forEach((capability, also) -> {
            String[] seen = Stream.concat(Stream.of(capability, "outcome", "deadline"), also.stream())
                    .map(name -> "io.weir." + name)
                    .toArray(String[]::new);
            noClasses()
                    .that()
                    .resideInAPackage("io.weir." + capability)
                    .should()
                    .dependOnClassesThat(resideInAPackage("io.weir..").and(not(resideInAnyPackage(seen))))
                    .check(all);
        });
    }

    /** Doors call the engine, and observers implement its interfaces. It depends on none of them. */
    @Test
    void engineKnowsNoDoorAndNoSpring() {
        noClasses()
                .that()
                .resideInAnyPackage(
                        "io.weir.engine", "io.weir.body", "io.weir.websocket", "io.weir.probe", "io.weir.slowcaller")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "org.springframework.web..",
                        "org.springframework.http..",
                        "org.springframework.cloud..",
                        "org.springframework.context..",
                        "org.springframework.core..",
                        "org.springframework.beans..",
                        "io.micrometer..",
                        "io.weir.door..",
                        "io.weir.edge..",
                        "io.weir.metrics..",
                        "io.weir.config..")
                .check(all);
    }

    /** The capabilities that handle connections, bodies or Spring's own CORS rules. */
    private static final Set<String> ADAPTERS =
            Set.of("instance", "body", "websocket", "probe", "edge", "cors", "compression");

    /** They may use the part of Spring that binds their properties. */
    @Test
    void decisionsKnowNoSpringAndNoReactor() {
        noClasses()
                .that()
                .resideInAnyPackage(CAPABILITIES.keySet().stream()
                        .filter(capability -> !ADAPTERS.contains(capability))
                        .map(capability -> "io.weir." + capability)
                        .toArray(String[]::new))
                .should()
                .dependOnClassesThat(resideInAnyPackage("org.springframework..", "reactor..")
                        .and(not(resideInAnyPackage(
                                "org.springframework.boot.context.properties..",
                                "org.springframework.boot.convert..",
                                "org.springframework.util.unit..",
                                // Validates tokens; only authentication may use it.
                                "org.springframework.security.oauth2.."))))
                .check(all);
    }

    /** No class of OpenTelemetry is loaded where tracing is off. */
    @Test
    void onlyTracingKnowsOpenTelemetry() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.weir.tracing")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.opentelemetry..")
                .check(all);
    }

    /** No class of these libraries is loaded where no issuer of tokens is configured. */
    @Test
    void onlyAuthenticationKnowsSpringSecurity() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.weir.authentication")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.springframework.security..", "com.nimbusds..")
                .check(all);
    }

    @Test
    void theClockIsInjected() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.weir.wiring")
                .should(accessTargetWhere(calls("nanoTime", System.class.getName())))
                .check(all);
    }

    /** Waiting for a publisher blocks a thread. */
    @Test
    void noClassWaitsForAPublisher() {
        noClasses()
                .that()
                // Routes are read from lists, on the thread that starts or reloads.
                .doNotHaveFullyQualifiedName("io.weir.apply.GeneralRoutesFactory")
                .and()
                // The preload runs on the starting thread, before the gateway listens.
                .doNotHaveFullyQualifiedName("io.weir.wiring.ClassPreload")
                .should(accessTargetWhere(calls("block.*", "reactor\\.core\\.publisher\\.(Mono|Flux)")))
                .check(all);
    }

    private static DescribedPredicate<JavaAccess<?>> calls(String name, String ownerName) {
        return new DescribedPredicate<>("%s.%s", ownerName, name) {
            @Override
            public boolean test(JavaAccess<?> access) {
                AccessTarget target = access.getTarget();
                return target.getName().matches(name)
                        && target.getOwner().getName().matches(ownerName);
            }
        };
    }

    @Test
    void everyPackageIsNullMarkedAndDocumented() {
        classes()
                .that()
                .areAnnotatedWith(NullMarked.class)
                .should()
                .haveSimpleName("package-info")
                .check(all);
        for (JavaPackage one : all.getPackage("io.weir").getSubpackagesInTree()) {
            if (!one.getClasses().isEmpty()) {
                assertThat(one.isAnnotatedWith(NullMarked.class))
                        .as(one.getName())
                        .isTrue();
            }
        }
    }
}
