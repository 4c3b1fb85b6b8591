package io.weir.cluster;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
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
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** A DNS server on the loopback interface with one name and a variable number of addresses. */
public final class FakeDns implements AutoCloseable {

    /** The only name with addresses. */
    public static final String NAME = "gateways.test.";

    private final MultiThreadIoEventLoopGroup thread = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Channel channel;
    private volatile int gateways;
    private volatile boolean isDualStack;
    private volatile boolean isSilent;

    /** Starts a server. */
    public FakeDns(int gateways) {
        this.gateways = gateways;
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

    /** Sets the number of addresses; 0: the name does not exist. */
    public void gateways(int now) {
        gateways = now;
    }

    /** Adds an IPv6 address for each gateway. */
    public void dualStack() {
        isDualStack = true;
    }

    /** Stops answering. */
    public void silent() {
        isSilent = true;
    }

    @Override
    public void close() {
        thread.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    private final class Answers extends SimpleChannelInboundHandler<DatagramDnsQuery> {

        @Override
        protected void channelRead0(ChannelHandlerContext context, DatagramDnsQuery query) {
            if (isSilent) {
                return;
            }
            DnsQuestion question = query.recordAt(DnsSection.QUESTION);
            InetSocketAddress server = query.recipient();
            InetSocketAddress client = query.sender();
            DatagramDnsResponse answer = new DatagramDnsResponse(server, client, query.id());
            answer.addRecord(DnsSection.QUESTION, new DefaultDnsQuestion(question.name(), question.type()));
            if (gateways == 0 || !question.name().equals(NAME)) {
                answer.setCode(DnsResponseCode.NXDOMAIN);
            } else if (question.type().equals(DnsRecordType.A) || isDualStack) {
                for (int i = 0; i < gateways; i++) {
                    answer.addRecord(
                            DnsSection.ANSWER,
                            new DefaultDnsRawRecord(question.name(), question.type(), 1, address(question.type(), i)));
                }
            }
            var _ = context.writeAndFlush(answer);
        }

        private ByteBuf address(DnsRecordType type, int number) {
            byte[] bytes = new byte[type.equals(DnsRecordType.A) ? 4 : 16];
            bytes[0] = 10;
            bytes[bytes.length - 1] = (byte) (number + 1);
            return Unpooled.wrappedBuffer(bytes);
        }
    }
}
