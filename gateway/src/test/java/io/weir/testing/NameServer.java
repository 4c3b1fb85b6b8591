package io.weir.testing;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.dns.DatagramDnsQuery;
import io.netty.handler.codec.dns.DatagramDnsQueryDecoder;
import io.netty.handler.codec.dns.DatagramDnsResponse;
import io.netty.handler.codec.dns.DatagramDnsResponseEncoder;
import io.netty.handler.codec.dns.DefaultDnsQuery;
import io.netty.handler.codec.dns.DefaultDnsQuestion;
import io.netty.handler.codec.dns.DefaultDnsRawRecord;
import io.netty.handler.codec.dns.DefaultDnsResponse;
import io.netty.handler.codec.dns.DnsQuery;
import io.netty.handler.codec.dns.DnsQuestion;
import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.handler.codec.dns.DnsResponse;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.handler.codec.dns.DnsSection;
import io.netty.handler.codec.dns.TcpDnsQueryDecoder;
import io.netty.handler.codec.dns.TcpDnsResponseEncoder;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A DNS server on the loopback interface, over UDP and TCP, with one name, whose addresses change, and one
 * service.
 */
public final class NameServer implements AutoCloseable {

    /** The name, unless another one is chosen. Queries for another name are answered with NXDOMAIN. */
    public static final String NAME = "orders.test";

    /** The name of the service, whose records lead to other names, too. */
    public static final String SERVICE = "_http._tcp.orders.test";

    /** A long time to live: the gateway must ask again before it ends. */
    private static final int DAY_SECONDS = 86_400;

    private final MultiThreadIoEventLoopGroup thread = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Channel datagrams;
    private final String name;
    private final AtomicInteger queries = new AtomicInteger();
    private volatile List<String> addresses;
    private volatile List<Srv> services = List.of();
    private volatile DnsResponseCode code = DnsResponseCode.NOERROR;
    private volatile @Nullable DnsRecordType failing;
    private volatile @Nullable String failingName;
    private volatile boolean isTruncating;
    private volatile boolean isSilent;

    /**
     * An SRV record of {@link #SERVICE}.
     *
     * @param target {@link #NAME}, another name, which has the address {@code address}, or {@code .}
     */
    public record Srv(int priority, int weight, int port, String target, String address) {

        private ByteBuf data() {
            ByteBuf data = Unpooled.buffer();
            data.writeShort(priority).writeShort(weight).writeShort(port);
            for (String label : target.split("\\.")) {
                data.writeByte(label.length()).writeCharSequence(label, StandardCharsets.US_ASCII);
            }
            return data.writeByte(0);
        }
    }

    /** Starts a server with these addresses of {@link #NAME}. */
    public NameServer(String... addresses) {
        this(NAME, List.of(addresses));
    }

    /** Starts a server with these addresses, of IPv4 or IPv6, of a name. */
    public NameServer(String name, List<String> addresses) {
        this.name = name;
        this.addresses = addresses;
        Channel bound;
        do {
            bound = bindDatagrams();
        } while (!bindStreams(((InetSocketAddress) bound.localAddress()).getPort()));
        datagrams = bound;
    }

    private Channel bindDatagrams() {
        return new Bootstrap()
                .group(thread)
                .channel(NioDatagramChannel.class)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel made) {
                        made.pipeline()
                                .addLast(
                                        new DatagramDnsQueryDecoder(),
                                        new DatagramDnsResponseEncoder(),
                                        new Answers<>(DatagramDnsQuery.class, NameServer.this::answer));
                    }
                })
                .bind("127.0.0.1", 0)
                .syncUninterruptibly()
                .channel();
    }

    /** Accepts queries over TCP; false if the port is in use. */
    private boolean bindStreams(int port) {
        return new ServerBootstrap()
                .group(thread)
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel made) {
                        made.pipeline()
                                .addLast(
                                        new TcpDnsQueryDecoder(),
                                        new TcpDnsResponseEncoder(),
                                        new Answers<>(
                                                DefaultDnsQuery.class,
                                                query -> filled(new DefaultDnsResponse(query.id()), query)));
                    }
                })
                .bind("127.0.0.1", port)
                .awaitUninterruptibly()
                .isSuccess();
    }

    /** The server's address, {@code address:port}. */
    public String address() {
        return "127.0.0.1:" + ((InetSocketAddress) datagrams.localAddress()).getPort();
    }

    /** Replaces the addresses; without any, the answer is empty. */
    public void resolveTo(String... now) {
        addresses = List.of(now);
        code = DnsResponseCode.NOERROR;
        failing = null;
        isSilent = false;
    }

    /** Replaces the records of {@link #SERVICE}. */
    public void serve(Srv... now) {
        services = List.of(now);
    }

    /** Answers with an error from now on. */
    public void fail(DnsResponseCode error) {
        code = error;
    }

    /** Answers queries for one type with SERVFAIL from now on. */
    public void fail(DnsRecordType type) {
        failing = type;
    }

    /** Answers each datagram without addresses and with the flag TC; the answer over TCP is whole. */
    public void truncate() {
        isTruncating = true;
    }

    /** Answers queries for the addresses of one name with SERVFAIL from now on; null: of none. */
    public void failFor(@Nullable String target) {
        failingName = target;
    }

    /** Stops answering. */
    public void silence() {
        isSilent = true;
    }

    /** Queries for IPv4 addresses and for services since the start. */
    public int queries() {
        return queries.get();
    }

    @Override
    public void close() {
        thread.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    private DnsResponse answer(DatagramDnsQuery query) {
        InetSocketAddress server = query.recipient();
        InetSocketAddress client = query.sender();
        DatagramDnsResponse answer = new DatagramDnsResponse(server, client, query.id());
        if (!isTruncating) {
            return filled(answer, query);
        }
        DnsQuestion question = query.recordAt(DnsSection.QUESTION);
        answer.addRecord(DnsSection.QUESTION, new DefaultDnsQuestion(question.name(), question.type()));
        return answer.setTruncated(true);
    }

    private DnsResponse filled(DnsResponse answer, DnsQuery query) {
        DnsQuestion question = query.recordAt(DnsSection.QUESTION);
        boolean isForIpv4 = question.type().equals(DnsRecordType.A);
        answer.addRecord(DnsSection.QUESTION, new DefaultDnsQuestion(question.name(), question.type()));
        List<String> known = addressesOf(question.name());
        if (question.name().equals(failingName + '.')) {
            return answer.setCode(DnsResponseCode.SERVFAIL);
        }
        boolean isForService = question.name().equals(SERVICE + '.');
        if (known.isEmpty() && !isForService && !question.name().equals(name + '.')) {
            answer.setCode(DnsResponseCode.NXDOMAIN);
        } else if (question.type().equals(failing)) {
            answer.setCode(DnsResponseCode.SERVFAIL);
        } else if (!code.equals(DnsResponseCode.NOERROR)) {
            answer.setCode(code);
        } else if (isForService && question.type().equals(DnsRecordType.SRV)) {
            services.forEach(service -> answer.addRecord(
                    DnsSection.ANSWER,
                    new DefaultDnsRawRecord(question.name(), DnsRecordType.SRV, DAY_SECONDS, service.data())));
        } else if (isForIpv4 || question.type().equals(DnsRecordType.AAAA)) {
            known.stream()
                    .filter(address -> isForIpv4 == NetUtil.isValidIpV4Address(address))
                    .map(NetUtil::createByteArrayFromIpAddressString)
                    .map(bytes -> new DefaultDnsRawRecord(
                            question.name(), question.type(), DAY_SECONDS, Unpooled.wrappedBuffer(bytes)))
                    .forEach(address -> answer.addRecord(DnsSection.ANSWER, address));
        }
        return answer;
    }

    private List<String> addressesOf(String asked) {
        if (asked.equals(name + '.')) {
            return addresses;
        }
        return services.stream()
                .filter(service -> asked.equals(service.target() + '.')
                        && !service.address().isEmpty())
                .map(Srv::address)
                .toList();
    }

    /** Answers queries, of datagrams or of a stream. */
    private final class Answers<Q extends DnsQuery> extends SimpleChannelInboundHandler<Q> {

        private final Function<Q, DnsResponse> answer;

        Answers(Class<Q> type, Function<Q, DnsResponse> answer) {
            super(type);
            this.answer = answer;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, Q query) {
            DnsQuestion question = query.recordAt(DnsSection.QUESTION);
            if (question.type().equals(DnsRecordType.A) || question.type().equals(DnsRecordType.SRV)) {
                queries.incrementAndGet();
            }
            if (!isSilent) {
                var _ = context.writeAndFlush(answer.apply(query));
            }
        }
    }
}
