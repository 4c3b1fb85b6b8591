package io.weir.testing;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** Callers that each send one request after the other on one connection, half of them through each door. */
public final class SteadyCallers {

    private final AtomicInteger answered = new AtomicInteger();
    private final List<String> lost = new ArrayList<>();
    private final List<CompletableFuture<Void>> running = new ArrayList<>();
    private volatile boolean stopping;

    /**
     * Starts the callers.
     *
     * @param port the gateway's port
     * @param route the name of the route, as {@link Door#path} expects it
     * @param method the method of their requests
     */
    public SteadyCallers(int callers, int port, String route, String method) {
        for (int i = 0; i < callers; i++) {
            Door door = i % 2 == 0 ? Door.COMPILED : Door.GENERAL;
            running.add(CompletableFuture.runAsync(
                    () -> call(port, door.path(route, "1"), method), Thread::startVirtualThread));
        }
    }

    private void call(int port, String path, String method) {
        try (TestCaller caller = TestCaller.to(port)) {
            while (!stopping) {
                TestCaller.Answer answer = caller.request(method, path);
                if (answer.status() == 200) {
                    answered.incrementAndGet();
                } else {
                    lost(path + ": " + answer.status() + ' ' + answer.text());
                }
            }
        } catch (IOException e) {
            lost(path + ": " + e);
        }
    }

    private synchronized void lost(String what) {
        lost.add(what);
    }

    /** Waits for so many more answers. */
    public void awaitMore(int answers) {
        int soFar = answered.get();
        await().atMost(TestGateway.PATIENCE).until(() -> answered.get() >= soFar + answers || !lost().isEmpty());
    }

    /** The requests that were not answered with 200. */
    public synchronized List<String> lost() {
        return List.copyOf(lost);
    }

    /** Ends the callers after their present requests, and returns the requests that were lost. */
    public List<String> stop() {
        stopping = true;
        running.forEach(CompletableFuture::join);
        return lost();
    }
}
