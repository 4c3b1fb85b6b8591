package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.boot.web.server.Shutdown;
import org.springframework.context.ApplicationContextException;

class StartFailureTest {

    @Test
    void exitsWithFourIfAPortIsInUse() {
        assertThat(StartFailure.exitCode(new PortInUseException(8080))).isEqualTo(4);
        assertThat(StartFailure.exitCode(new ApplicationContextException(
                        "Failed to start bean", new IllegalStateException(new PortInUseException(8081)))))
                .isEqualTo(4);
        assertThat(StartFailure.exitCode(
                        new UncheckedIOException(new BindException("Cannot assign requested address"))))
                .isEqualTo(4);
    }

    @Test
    void exitsWithOneIfAPropertyOfSpringBootDoesNotConvert() {
        Binder binder = new Binder(new MapConfigurationPropertySource(Map.of("server.shutdown", "soon")));
        try {
            binder.bind("server.shutdown", Shutdown.class);
            fail("bound");
        } catch (RuntimeException e) {
            assertThat(StartFailure.exitCode(new ApplicationContextException("server", e)))
                    .isEqualTo(1);
        }
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void logsTheCauseInOneLine(CapturedOutput output) {
        new StartFailureReport()
                .report(new FailureAnalysis(
                        "Web server failed to start. Port 8080 was already in use.\n\n",
                        "Stop\n  the other.",
                        new PortInUseException(8080)));

        assertThat(output.getAll().lines().filter(line -> line.contains("ERROR")))
                .singleElement()
                .asString()
                .endsWith("The start failed: Web server failed to start. Port 8080 was already in use. "
                        + "Stop the other.");
    }

    @Test
    void exitsWithFiveAfterAnyOtherFailure() {
        assertThat(StartFailure.exitCode(new ApplicationContextException("no certificate")))
                .isEqualTo(5);
        assertThat(StartFailure.exitCode(new UncheckedIOException(new IOException("connection reset"))))
                .isEqualTo(5);
    }

    @Test
    void endsItsSearchInACycleOfCauses() {
        IllegalStateException first = new IllegalStateException("first");
        IllegalStateException second = new IllegalStateException("second", first);
        first.initCause(second);

        assertThat(StartFailure.exitCode(first)).isEqualTo(5);
    }
}
