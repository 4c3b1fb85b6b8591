package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.WeirApplication;
import io.weir.config.check.CheckedConfiguration;
import io.weir.config.check.ConfigurationSnapshot;
import io.weir.reload.ConfigurationChange;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.OwnLoops;
import java.io.IOException;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;

/** The life of the checked configuration in a gateway. */
class CheckedValuesIT {

    private static final String CONFIGURATION = """
            weir:
              backends:
                orders: { uri: "http://localhost:1", deadline: 700ms }
            spring.cloud.gateway.server.webflux.routes:
              - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
            """;

    private static final int MAX_COLLECTIONS = 20;

    @TempDir
    private Path directory;

    private record Start(
            ConfigurableApplicationContext context,
            Reference<CheckedConfiguration> checked,
            Reference<ConfigurationSnapshot> snapshot) {}

    private static Start start(Path file) {
        String[] arguments = {
            "--spring.config.additional-location=file:" + file,
            "--server.port=0",
            "--management.server.port=0",
            "--weir.drain.delay=0s",
            "--weir.warm-up.max-duration=0s",
            "--weir.reload.watch=false"
        };
        CheckedConfiguration checked = CheckedConfiguration.read(arguments);
        assertThat(checked.snapshot().report().problems()).isEmpty();
        SpringApplication application = new SpringApplication(WeirApplication.class);
        application.addInitializers(new CheckedValues(checked), new OwnLoops());
        return new Start(
                application.run(arguments), new WeakReference<>(checked), new WeakReference<>(checked.snapshot()));
    }

    private static boolean isReleased(Reference<?> reference) {
        for (int i = 0; i < MAX_COLLECTIONS && reference.get() != null; i++) {
            System.gc();
        }
        return reference.get() == null;
    }

    @Test
    void holdsTheCheckedConfigurationOnlyWhileItIsInForce() throws IOException {
        Path file = Files.writeString(directory.resolve("gateway.yml"), CONFIGURATION);
        Start start = start(file);
        try (ConfigurableApplicationContext context = start.context()) {
            LiveConfiguration configuration = context.getBean(LiveConfiguration.class);
            assertThat(configuration.inForce()).isSameAs(start.snapshot().get());
            assertThat(context.getBeanNamesForType(CheckedConfiguration.class)).isEmpty();
            assertThat(isReleased(start.checked())).isTrue();

            Files.writeString(file, CONFIGURATION.replace("700ms", "900ms"));
            ConfigurationChange change = configuration.reload(Trigger.REQUEST, "test");

            assertThat(change.isApplied()).isTrue();
            assertThat(isReleased(start.snapshot())).isTrue();
        }
    }
}
