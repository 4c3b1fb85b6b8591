package io.weir.probe;

import io.netty.channel.ChannelOption;
import io.netty.resolver.AddressResolverGroup;
import io.weir.instance.Instance;
import reactor.core.Disposable;
import reactor.netty.Connection;
import reactor.netty.http.client.HttpClientConfig;
import reactor.netty.tcp.TcpClient;

/**
 * Health checks that open a TCP connection to an instance, and close it at once. It is not one of the pool's,
 * and no TLS begins on it. A process that accepts connections passes, whether it answers or not.
 */
final class TcpCheck {

    private TcpCheck() {}

    /** Opens the connection. The check's own time-out and the pool's connect time-out end it. */
    static Runnable send(Instance instance, ProbeRequest.Outcome outcome) {
        Disposable opening = client(instance)
                .connect()
                .doOnNext(Connection::dispose)
                .subscribe(accepted -> outcome.good(), outcome::failed);
        return opening::dispose;
    }

    /** A client of new connections to the instance, outside its pool and without TLS. */
    static TcpClient client(Instance instance) {
        HttpClientConfig pool = instance.pool().client().configuration();
        TcpClient client = TcpClient.newConnection()
                .remoteAddress(pool.remoteAddress())
                .runOn(pool.loopResources())
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (Integer)
                        pool.options().get(ChannelOption.CONNECT_TIMEOUT_MILLIS));
        AddressResolverGroup<?> resolver = pool.resolver();
        return resolver == null ? client : client.resolver(resolver);
    }
}
