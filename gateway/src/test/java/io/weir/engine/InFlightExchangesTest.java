package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.netty.channel.DefaultEventLoop;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class InFlightExchangesTest {

    @Test
    void hasNothingToEndOnAnEventLoopThatHasStopped() throws InterruptedException {
        DefaultEventLoop loop = new DefaultEventLoop();
        InFlightExchanges roster = new InFlightExchanges(loop);
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
        assertThat(loop.isTerminated()).isTrue();

        assertThatCode(() -> roster.end(exchange -> true)).doesNotThrowAnyException();
    }
}
