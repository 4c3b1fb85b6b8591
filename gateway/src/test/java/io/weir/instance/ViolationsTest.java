package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@ExtendWith(OutputCaptureExtension.class)
class ViolationsTest {

    @Test
    void areCountedEachAndLoggedOncePerKind(CapturedOutput output) {
        Violations violations = new Violations("orders");

        for (int i = 0; i < 3; i++) {
            violations.add(Violations.Kind.BYTES_AFTER_ANSWER, "orders-1:80");
        }
        violations.add(Violations.Kind.BYTES_WITHOUT_REQUEST, "orders-2:80");

        assertThat(violations.count(Violations.Kind.BYTES_AFTER_ANSWER)).isEqualTo(3);
        assertThat(violations.count(Violations.Kind.BYTES_WITHOUT_REQUEST)).isEqualTo(1);
        List<String> lines = output.getOut()
                .lines()
                .filter(line -> line.contains("Backend orders"))
                .toList();
        assertThat(lines).hasSize(2);
        assertThat(lines.get(0))
                .contains(
                        "Backend orders, orders-1:80: bytes after the end of an answer.",
                        "weir_backend_violations_total, kind bytes-after-answer");
        assertThat(lines.get(1)).contains("orders-2:80", "kind bytes-without-request");
    }
}
