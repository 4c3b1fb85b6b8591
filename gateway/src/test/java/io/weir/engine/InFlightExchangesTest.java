package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.netty.channel.DefaultEventLoop;
import io.weir.overload.LoopPauses;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class InFlightExchangesTest {

    @Test
    void shutDownIgnoresAStoppedEventLoop() throws InterruptedException {
        DefaultEventLoop loop = new DefaultEventLoop();
        InFlightExchanges exchanges = new InFlightExchanges(loop, LoopPauses.NONE);
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
        assertThat(loop.isTerminated()).isTrue();

        assertThatCode(() -> exchanges.shutDown(exchange -> true)).doesNotThrowAnyException();
    }
}
