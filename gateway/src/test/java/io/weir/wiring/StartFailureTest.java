package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import org.junit.jupiter.api.Test;
import org.springframework.boot.web.server.PortInUseException;
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
