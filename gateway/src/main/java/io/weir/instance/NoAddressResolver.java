package io.weir.instance;

import io.netty.resolver.AbstractAddressResolver;
import io.netty.resolver.AddressResolver;
import io.netty.resolver.AddressResolverGroup;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.InetSocketAddress;
import java.util.List;

/** Fails at once for every host: no address is known. */
final class NoAddressResolver extends AddressResolverGroup<InetSocketAddress> {

    /** One for all pools: the group keeps a listener on each event loop. */
    static final NoAddressResolver INSTANCE = new NoAddressResolver();

    private NoAddressResolver() {}

    @Override
    protected AddressResolver<InetSocketAddress> newResolver(EventExecutor executor) {
        return new AbstractAddressResolver<>(executor, InetSocketAddress.class) {

            @Override
            protected boolean doIsResolved(InetSocketAddress address) {
                return !address.isUnresolved();
            }

            @Override
            protected void doResolve(InetSocketAddress unresolved, Promise<InetSocketAddress> promise) {
                promise.setFailure(new NoAddressException(unresolved.getHostString()));
            }

            @Override
            protected void doResolveAll(InetSocketAddress unresolved, Promise<List<InetSocketAddress>> promise) {
                promise.setFailure(new NoAddressException(unresolved.getHostString()));
            }
        };
    }
}
