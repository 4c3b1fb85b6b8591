package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class QueuedStreamTest {

    private final PrintStream before = System.err;

    @AfterEach
    void restore() {
        System.setErr(before);
    }

    @Test
    void writesWhatThreadsPrintToStandardError() {
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        System.setErr(new PrintStream(written, false, StandardCharsets.UTF_8));
        QueuedStream stream = QueuedStream.replaceStandardError();

        IntStream.range(0, 1_000).forEach(i -> System.err.println("line " + i + " ä"));
        System.err.write('!');
        new IllegalStateException("of a test").printStackTrace();
        stream.close();

        assertThat(written.toString(StandardCharsets.UTF_8))
                .startsWith(IntStream.range(0, 1_000)
                                .mapToObj(i -> "line " + i + " ä\n")
                                .collect(Collectors.joining())
                        + "!java.lang.IllegalStateException: of a test\n\tat io.weir.accesslog.QueuedStreamTest");
        assertThat(stream.dropped()).isZero();
    }

    @Test
    void dropsAndCountsWhatAStuckStreamDoesNotTake() throws InterruptedException {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        System.setErr(new PrintStream(new OutputStream() {
            @Override
            public void write(int b) {
                written.write(b);
                entered.countDown();
                try {
                    released.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }));
        QueuedStream stream = QueuedStream.replaceStandardError();
        System.err.println("stuck");
        entered.await();

        for (int i = 0; i < QueuedStream.CAPACITY + 3; i++) {
            System.err.println("line " + i);
        }

        assertThat(stream.dropped()).isEqualTo(3);
        released.countDown();
        stream.close();
        assertThat(written.toString(StandardCharsets.UTF_8))
                .endsWith("line " + (QueuedStream.CAPACITY - 1)
                        + "\nStandard error: 3 lines dropped, 3 since the start\n");
    }
}
