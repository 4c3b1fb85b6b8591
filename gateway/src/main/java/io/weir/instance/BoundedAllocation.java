package io.weir.instance;

import java.util.concurrent.atomic.AtomicInteger;
import reactor.netty.resources.ConnectionProvider;

/**
 * An allocation strategy whose limit can change while connections are open; Reactor Netty's own cannot. Its
 * connections also need files ({@link ConnectionFiles}). As with Reactor Netty's own, each address that a
 * name resolves to has a copy.
 */
// Concurrency: `granted` is the only state. A thread that reads the limit just before it grows uses the old
// limit; benign.
final class BoundedAllocation implements ConnectionProvider.AllocationStrategy<BoundedAllocation> {

    private final AtomicInteger limit;
    private final ConnectionFiles.Share files;
    private final AtomicInteger granted = new AtomicInteger();

    BoundedAllocation(AtomicInteger limit, ConnectionFiles.Share files) {
        this.limit = limit;
        this.files = files;
    }

    @Override
    public BoundedAllocation copy() {
        return new BoundedAllocation(limit, files);
    }

    @Override
    public int estimatePermitCount() {
        int before = granted.get();
        return files.available(Math.max(0, limit.get() - before), before);
    }

    @Override
    public int getPermits(int desired) {
        int inForce = limit.get();
        int before = granted.getAndUpdate(now -> now + grantable(inForce, now, desired));
        int within = grantable(inForce, before, desired);
        int taken = files.take(within, before);
        granted.addAndGet(taken - within);
        return taken;
    }

    private static int grantable(int limit, int granted, int desired) {
        return Math.clamp((long) limit - granted, 0, desired);
    }

    @Override
    public int permitGranted() {
        return granted.get();
    }

    @Override
    public int permitMinimum() {
        return 0;
    }

    @Override
    public int permitMaximum() {
        return limit.get();
    }

    @Override
    public void returnPermits(int returned) {
        granted.addAndGet(-returned);
        files.giveBack(returned);
    }
}
