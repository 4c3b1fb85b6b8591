package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.weir.config.WeirProperties;
import io.weir.config.check.CheckedConfiguration;
import io.weir.config.check.ConfigurationReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;

/** What a start takes from the check before it. */
class CheckedValuesTest {

    private static final String CONFIGURATION = """
            weir:
              backends:
                orders: { uri: "http://localhost:1", deadline: 700ms }
            spring.cloud.gateway.server.webflux.routes:
              - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
            """;

    @TempDir
    private Path directory;

    private Path file;

    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties(WeirProperties.class)
    static class Properties {}

    @BeforeEach
    void writeConfiguration() throws IOException {
        file = Files.writeString(directory.resolve("gateway.yml"), CONFIGURATION);
    }

    private String[] arguments() {
        return new String[] {"--spring.config.additional-location=file:" + file, "--weir.drain.delay=3s"};
    }

    private ConfigurableApplicationContext start(CheckedConfiguration checked) {
        return start(checked, arguments());
    }

    /** Starts with these initializers before that of the checked values. */
    private static ConfigurableApplicationContext start(
            CheckedConfiguration checked, String[] arguments, ApplicationContextInitializer<?>... extensions) {
        SpringApplication application = new SpringApplication(Properties.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        application.addInitializers(extensions);
        application.addInitializers(new CheckedValues(checked));
        return application.run(arguments);
    }

    private static Duration deadline(ConfigurableApplicationContext context) {
        return deadline(context.getBean(WeirProperties.class));
    }

    private static Duration deadline(WeirProperties properties) {
        return Objects.requireNonNull(properties.backends().get("orders")).deadline();
    }

    @Test
    void takesTheCheckedValues() {
        CheckedConfiguration checked = CheckedConfiguration.read(arguments());

        try (ConfigurableApplicationContext context = start(checked)) {
            assertThat(context.getBean(CheckedConfiguration.class)).isSameAs(checked);
            assertThat(context.getBean(WeirProperties.class)).isEqualTo(checked.weir());
            assertThat(deadline(context)).isEqualTo(Duration.ofMillis(700));
        }
    }

    @Test
    void bindsAFileThatHasChangedSinceTheCheck() throws IOException {
        CheckedConfiguration checked = CheckedConfiguration.read(arguments());
        Files.writeString(file, CONFIGURATION.replace("700ms", "900ms"));

        try (ConfigurableApplicationContext context = start(checked)) {
            assertThat(context.getBeanNamesForType(CheckedConfiguration.class)).isEmpty();
            assertThat(deadline(context)).isEqualTo(Duration.ofMillis(900));
        }
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void refusesAFileThatHasBecomeInvalidSinceTheCheck(CapturedOutput output) throws IOException {
        CheckedConfiguration checked = CheckedConfiguration.read(arguments());
        Files.writeString(file, CONFIGURATION.replace("deadline", "dedline"));

        assertThatThrownBy(() -> start(checked).close()).satisfies(failure -> {
            assertThat(failure).hasMessageContaining("weir.backends.orders.dedline");
            assertThat(StartFailure.exitCode(failure)).isEqualTo(1);
        });
        assertThat(output)
                .contains("gateway.yml:3", "weir.backends.orders.dedline")
                .doesNotContain("InvalidConfigurationException");
    }

    @Test
    void bindsAFileThatHasAppearedSinceTheCheck() throws IOException {
        Path late = directory.resolve("late.yml");
        String[] arguments = {"--spring.config.additional-location=file:" + file + ",optional:file:" + late};
        CheckedConfiguration checked = CheckedConfiguration.read(arguments);
        Files.writeString(late, "weir.drain.delay: 4s");

        try (ConfigurableApplicationContext context = start(checked, arguments)) {
            assertThat(context.getBeanNamesForType(CheckedConfiguration.class)).isEmpty();
            assertThat(context.getBean(WeirProperties.class).drain().delay()).isEqualTo(Duration.ofSeconds(4));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"weir.drain.delay", "WEIR.drain.DELAY"})
    void bindsTheValuesOfAnExtension(String property) {
        CheckedConfiguration checked = CheckedConfiguration.read(arguments());
        ApplicationContextInitializer<ConfigurableApplicationContext> extension = context -> context.getEnvironment()
                .getPropertySources()
                .addFirst(new MapPropertySource("extension", Map.of(property, "4s")));

        try (ConfigurableApplicationContext context = start(checked, arguments(), extension)) {
            assertThat(context.getBeanNamesForType(CheckedConfiguration.class)).isEmpty();
            assertThat(context.getBean(WeirProperties.class).drain().delay()).isEqualTo(Duration.ofSeconds(4));
        }
    }

    @Test
    void takesTheCheckedValuesIfAnExtensionAddsOthers() {
        CheckedConfiguration checked = CheckedConfiguration.read(arguments());
        ApplicationContextInitializer<ConfigurableApplicationContext> extension = context -> context.getEnvironment()
                .getPropertySources()
                .addFirst(new MapPropertySource("extension", Map.of("weirder.delay", "4s")));

        try (ConfigurableApplicationContext context = start(checked, arguments(), extension)) {
            assertThat(context.getBean(CheckedConfiguration.class)).isSameAs(checked);
        }
    }

    private String[] withTree(String deadline) throws IOException {
        Path tree = Files.createDirectories(directory.resolve("tree"));
        Files.writeString(tree.resolve("weir.backends.orders.deadline"), deadline);
        return new String[] {
            "--spring.config.additional-location=file:" + file,
            "--spring.config.import=configtree:" + tree + "/",
            "--logging.level.io.weir.config.check=debug"
        };
    }

    @Test
    void takesTheCheckedValuesOfADirectory() throws IOException {
        String[] arguments = withTree("4s");
        CheckedConfiguration checked = CheckedConfiguration.read(arguments);

        try (ConfigurableApplicationContext context = start(checked, arguments)) {
            assertThat(context.getBean(CheckedConfiguration.class)).isSameAs(checked);
            assertThat(deadline(context)).isEqualTo(Duration.ofSeconds(4));
        }
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void bindsADirectoryThatHasChangedSinceTheCheck(CapturedOutput output) throws IOException {
        String[] arguments = withTree("4s");
        CheckedConfiguration checked = CheckedConfiguration.read(arguments);
        withTree("5432ms");

        try (ConfigurableApplicationContext context = start(checked, arguments)) {
            assertThat(context.getBeanNamesForType(CheckedConfiguration.class)).isEmpty();
            assertThat(deadline(context)).isEqualTo(Duration.ofMillis(5432));
        }
        assertThat(output)
                .containsPattern("the first source that differs: [^\n]*" + directory.resolve("tree"))
                .doesNotContain("5432ms");
    }

    @Test
    void readsOnlyAChangeAfterTheCheck() throws IOException {
        CheckedConfiguration checked = CheckedConfiguration.read(arguments());

        try (ConfigurableApplicationContext context = start(checked)) {
            ConfigurationReader reader = new ConfigurationReader(context.getEnvironment(), arguments());
            reader.continueFrom(checked);

            assertThat(reader.get().hasSourcesOf(checked.snapshot())).isTrue();

            Files.writeString(file, CONFIGURATION.replace("700ms", "900ms"));
            assertThat(deadline(reader.get().weir())).isEqualTo(Duration.ofMillis(900));
        }
    }
}
