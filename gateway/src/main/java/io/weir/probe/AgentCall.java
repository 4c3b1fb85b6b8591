package io.weir.probe;

import io.netty.buffer.ByteBuf;
import io.weir.instance.Instance;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A question to an agent: a TCP connection, on which the gateway sends nothing and reads one line, up to
 * {@code \r}, {@code \n} or the end.
 */
final class AgentCall {

    /** A longer line is an error. */
    private static final int MAX_LINE = 1024;

    private final StringBuilder line = new StringBuilder();
    private boolean isEnded;

    private AgentCall() {}

    /** Opens the connection, and closes it after the line. */
    static Runnable send(Instance instance, int port, AgentCheck.Answer answer) {
        InetSocketAddress agent = atPort(instance.address().socketAddress(), port);
        Disposable asking = TcpCheck.client(instance)
                .remoteAddress(() -> agent)
                .connect()
                .flatMap(connection ->
                        new AgentCall().read(connection.inbound().receive()).doFinally(end -> connection.dispose()))
                .subscribe(answer::line, answer::failed);
        return asking::dispose;
    }

    private Mono<String> read(Flux<ByteBuf> parts) {
        return parts.takeUntil(this::append).then(Mono.fromCallable(this::line));
    }

    /** Returns whether the line has ended, or is too long. */
    private boolean append(ByteBuf part) {
        for (int i = part.readerIndex(); i < part.writerIndex() && line.length() <= MAX_LINE; i++) {
            char next = (char) (part.getByte(i) & 0xff);
            if (next == '\r' || next == '\n') {
                isEnded = true;
                return true;
            }
            line.append(next);
        }
        return line.length() > MAX_LINE;
    }

    private String line() throws ProtocolException {
        if (line.length() > MAX_LINE) {
            throw new ProtocolException("a line of more than " + MAX_LINE + " bytes");
        }
        if (!isEnded && line.isEmpty()) {
            throw new ProtocolException("it closed the connection and said nothing");
        }
        return line.toString();
    }

    private static InetSocketAddress atPort(InetSocketAddress instance, int port) {
        return instance.isUnresolved()
                ? InetSocketAddress.createUnresolved(instance.getHostString(), port)
                : new InetSocketAddress(instance.getAddress(), port);
    }
}
