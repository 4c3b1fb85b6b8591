package io.weir.testing;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.handler.codec.dns.DatagramDnsQuery;
import io.netty.handler.codec.dns.DatagramDnsQueryDecoder;
import io.netty.handler.codec.dns.DatagramDnsResponse;
import io.netty.handler.codec.dns.DatagramDnsResponseEncoder;
import io.netty.handler.codec.dns.DefaultDnsQuestion;
import io.netty.handler.codec.dns.DefaultDnsRawRecord;
import io.netty.handler.codec.dns.DnsQuestion;
import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.handler.codec.dns.DnsSection;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A DNS server on the loopback interface with one name, whose addresses change. */
public final class NameServer implements AutoCloseable {

    /** The name, unless another one is chosen. Queries for another name are answered with NXDOMAIN. */
    public static final String NAME = "orders.test";

    /** A long time to live: the gateway must ask again before it ends. */
    private static final int DAY_SECONDS = 86_400;

    private final MultiThreadIoEventLoopGroup thread = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Channel channel;
    private final String name;
    private final AtomicInteger queries = new AtomicInteger();
    private volatile List<String> addresses;
    private volatile DnsResponseCode code = DnsResponseCode.NOERROR;
    private volatile boolean isSilent;

    /** Starts a server with these addresses of {@link #NAME}. */
    public NameServer(String... addresses) {
        this(NAME, List.of(addresses));
    }

    /** Starts a server with these addresses, of IPv4 or IPv6, of a name. */
    public NameServer(String name, List<String> addresses) {
        this.name = name;
        this.addresses = addresses;
        channel = new Bootstrap()
                .group(thread)
                .channel(NioDatagramChannel.class)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel made) {
                        made.pipeline()
                                .addLast(
                                        new DatagramDnsQueryDecoder(), new DatagramDnsResponseEncoder(), new Answers());
                    }
                })
                .bind("127.0.0.1", 0)
                .syncUninterruptibly()
                .channel();
    }

    /** The server's address, {@code address:port}. */
    public String address() {
        return "127.0.0.1:" + ((InetSocketAddress) channel.localAddress()).getPort();
    }

    /** Replaces the addresses; without any, the answer is empty. */
    public void resolveTo(String... now) {
        addresses = List.of(now);
        code = DnsResponseCode.NOERROR;
        isSilent = false;
    }

    /** Answers with an error from now on. */
    public void fail(DnsResponseCode error) {
        code = error;
    }

    /** Stops answering. */
    public void silence() {
        isSilent = true;
    }

    /** Queries for IPv4 addresses since the start. */
    public int queries() {
        return queries.get();
    }

    @Override
    public void close() {
        thread.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    private final class Answers extends SimpleChannelInboundHandler<DatagramDnsQuery> {

        @Override
        protected void channelRead0(ChannelHandlerContext context, DatagramDnsQuery query) {
            DnsQuestion question = query.recordAt(DnsSection.QUESTION);
            boolean isForIpv4 = question.type().equals(DnsRecordType.A);
            if (isForIpv4) {
                queries.incrementAndGet();
            }
            if (isSilent) {
                return;
            }
            InetSocketAddress server = query.recipient();
            InetSocketAddress client = query.sender();
            DatagramDnsResponse answer = new DatagramDnsResponse(server, client, query.id());
            answer.addRecord(DnsSection.QUESTION, new DefaultDnsQuestion(question.name(), question.type()));
            if (!question.name().equals(name + '.')) {
                answer.setCode(DnsResponseCode.NXDOMAIN);
            } else if (!code.equals(DnsResponseCode.NOERROR)) {
                answer.setCode(code);
            } else if (isForIpv4 || question.type().equals(DnsRecordType.AAAA)) {
                addresses.stream()
                        .filter(address -> isForIpv4 == NetUtil.isValidIpV4Address(address))
                        .map(NetUtil::createByteArrayFromIpAddressString)
                        .map(bytes -> new DefaultDnsRawRecord(
                                question.name(), question.type(), DAY_SECONDS, Unpooled.wrappedBuffer(bytes)))
                        .forEach(address -> answer.addRecord(DnsSection.ANSWER, address));
            }
            var _ = context.writeAndFlush(answer);
        }
    }
}
