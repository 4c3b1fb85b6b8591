package io.weir.sim.fanout;

import java.net.http.HttpClient;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.reactive.function.client.WebClient;

/**
 * The four implementations, each a bean under its name in the path. Two need libraries that the jar of a
 * single stack may not contain.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnWebApplication
class FanOutConfiguration {

    private static final int QUEUE_CAPACITY = 1000;

    @Bean
    HttpClient fanOutClient(FanOutProperties properties) {
        return HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(properties.timeout())
                .build();
    }

    @Bean(destroyMethod = "shutdownNow")
    ExecutorService fanOutThreads(FanOutProperties properties) {
        ThreadPoolExecutor threads = new ThreadPoolExecutor(
                properties.threads(),
                properties.threads(),
                1,
                TimeUnit.MINUTES,
                new LinkedBlockingQueue<>(QUEUE_CAPACITY),
                Thread.ofPlatform().daemon().name("fanout-", 0).factory());
        threads.allowCoreThreadTimeOut(true);
        return threads;
    }

    @Bean(destroyMethod = "shutdownNow")
    ExecutorService fanOutVirtualThreads() {
        return Executors.newVirtualThreadPerTaskExecutor();
    }

    @Bean
    FanOut platform(HttpClient fanOutClient, ExecutorService fanOutThreads, FanOutProperties properties) {
        return new BlockingFanOut(fanOutClient, properties.timeout(), fanOutThreads);
    }

    @Bean
    FanOut virtual(HttpClient fanOutClient, ExecutorService fanOutVirtualThreads, FanOutProperties properties) {
        return new BlockingFanOut(fanOutClient, properties.timeout(), fanOutVirtualThreads);
    }

    /** Only if WebClient is on the class path. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication
    @ConditionalOnClass(
            name = {"org.springframework.web.reactive.function.client.WebClient", "reactor.netty.http.client.HttpClient"
            })
    static class WithWebClient {

        @Bean
        FanOut webclient(FanOutProperties properties) {
            return new WebClientFanOut(WebClient.create(), properties.timeout());
        }
    }

    /** Only if Kotlin's coroutines are on the class path. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication
    @ConditionalOnClass(name = "kotlinx.coroutines.CoroutineScope")
    static class WithKotlin {

        @Bean
        FanOut coroutines(HttpClient fanOutClient, FanOutProperties properties) {
            return new CoroutineFanOut(fanOutClient, properties.timeout());
        }
    }
}
