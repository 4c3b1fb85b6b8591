package io.weir.sim;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.ArchConfiguration;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

class SimulatorArchitectureTest {

    private static final JavaClasses all = ArchConfiguration.withThreadLocalScope(configuration -> {
        // The rules name the classes of libraries, and read none of them.
        configuration.setResolveMissingDependenciesFromClassPath(false);
        return new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("io.weir.sim");
    });

    @Test
    void packagesHaveNoCycles() {
        slices().matching("io.weir.sim.(*)..").should().beFreeOfCycles().check(all);
    }

    @Test
    void capabilitiesDoNotDependOnEachOther() {
        for (String capability : new String[] {"records", "threads", "fanout", "connections", "faults"}) {
            noClasses()
                    .that()
                    .resideOutsideOfPackages("io.weir.sim." + capability, "io.weir.sim")
                    .should()
                    .dependOnClassesThat()
                    .resideInAPackage("io.weir.sim." + capability)
                    .check(all);
        }
    }

    /** Tests give the decision classes a clock and a database of their own. */
    @Test
    void decisionClassesDependOnNoServerAndNoReactor() {
        noClasses()
                .that()
                .haveNameMatching(
                        ".*\\.(FaultRegistry|FaultPlan|FaultsRequestHandler|DelayDistribution|WorkPoolStatistics|ConnectionLedger|Sqrt2Digits).*")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "reactor..", "jakarta.servlet..", "io.netty..", "org.apache..", "org.springframework.boot..")
                .check(all);
    }

    /** The jar of one stack contains only its libraries, so shared classes must not use the others. */
    @Test
    void onlyClassesOfAStackUseItsLibraries() {
        onlyNamedBy(
                "jakarta.servlet..|org.apache.catalina..|org.apache.coyote..|org.apache.tomcat..",
                "ServletFaults|TomcatFaults|Breakable|FaultsConfiguration\\$OnTomcat");
        onlyNamedBy("io.netty..|reactor.netty..", "Netty|R2dbc");
        onlyNamedBy("com.zaxxer.hikari..", "Jdbc|SmallPool");
        onlyNamedBy("io.r2dbc..", "R2dbc");
        onlyNamedBy("io.zonky..", "PostgresKeeper");
        onlyNamedBy("kotlin..|kotlinx..", "CoroutineFanOut");
    }

    private static void onlyNamedBy(String packages, String simpleNames) {
        noClasses()
                .that()
                .haveNameNotMatching(".*\\.[^.]*(" + simpleNames + ")[^.]*")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(packages.split("\\|", -1))
                .check(all);
    }

    @Test
    void everyPackageIsNullMarked() {
        classes()
                .that()
                .areAnnotatedWith(NullMarked.class)
                .should()
                .haveSimpleName("package-info")
                .check(all);
        for (JavaPackage one : all.getPackage("io.weir.sim").getSubpackagesInTree()) {
            if (!one.getClasses().isEmpty()) {
                assertThat(one.isAnnotatedWith(NullMarked.class))
                        .as(one.getName())
                        .isTrue();
            }
        }
    }
}
