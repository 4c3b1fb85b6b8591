package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/** Records the events of callers' connections. */
final class RecordingEdgeListener implements EdgeListener {

    final AtomicInteger opened = new AtomicInteger();
    final AtomicInteger closed = new AtomicInteger();
    final AtomicInteger rejected = new AtomicInteger();
    final AtomicInteger flooded = new AtomicInteger();
    final List<Handshake> handshakes = new CopyOnWriteArrayList<>();
    final List<Refused> refused = new CopyOnWriteArrayList<>();

    record Refused(
            Reason reason,
            @Nullable String method,
            @Nullable String target,
            long nanos) {}

    @Override
    public void connectionOpened() {
        opened.incrementAndGet();
    }

    @Override
    public void connectionClosed() {
        closed.incrementAndGet();
    }

    @Override
    public void connectionRejected(@Nullable SocketAddress remote) {
        rejected.incrementAndGet();
    }

    @Override
    public void connectionFlooded(@Nullable SocketAddress remote) {
        flooded.incrementAndGet();
    }

    @Override
    public void handshakeEnded(Handshake handshake) {
        handshakes.add(handshake);
    }

    @Override
    public void refused(
            Reason reason,
            String requestId,
            @Nullable String method,
            @Nullable String target,
            @Nullable SocketAddress remote,
            long nanos,
            int answerBytes) {
        assertThat(answerBytes == 0 || !requestId.isEmpty()).isTrue();
        assertThat(remote).isNotNull();
        refused.add(new Refused(reason, method, target, nanos));
    }

    void awaitClosed(int connections) {
        await("connections closed", () -> closed.get() == connections);
    }

    void awaitRefused(int requests) {
        await("requests refused", () -> refused.size() == requests);
    }

    static void await(String what, BooleanSupplier condition) {
        Awaitility.await(what).until(condition::getAsBoolean);
    }
}
