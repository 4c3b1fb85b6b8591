package io.weir.sim.faults;

import io.weir.sim.faults.FaultsRequestHandler.FaultsAnswer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.io.buffer.DataBufferLimitException;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;
import reactor.netty.resources.LoopResources;

/**
 * Serves {@code /faults} on Netty's management port. The imports file of the management context names this
 * class. It is no {@code @Configuration}: the component scan would add it to the service's context.
 */
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
class NettyFaultsEndpoint {

    /** A separate event loop: a {@code cpu} fault may block those of the service. */
    @Bean(destroyMethod = "dispose")
    LoopResources managementLoop() {
        return LoopResources.create("management", 1, true);
    }

    @Bean
    WebServerFactoryCustomizer<NettyReactiveWebServerFactory> managementLoopCustomizer(LoopResources managementLoop) {
        return factory -> factory.addServerCustomizers(server -> server.runOn(managementLoop));
    }

    @Bean
    @Order(Ordered.HIGHEST_PRECEDENCE)
    WebFilter faultsFilter(FaultsRequestHandler control) {
        return (exchange, chain) -> exchange.getRequest().getPath().value().equals(FaultsRequestHandler.PATH)
                ? handle(exchange, control)
                : chain.filter(exchange);
    }

    private static Mono<Void> handle(ServerWebExchange exchange, FaultsRequestHandler control) {
        return DataBufferUtils.join(exchange.getRequest().getBody(), FaultsRequestHandler.DOCUMENT_MAX_BYTES)
                .map(buffer -> {
                    byte[] body = new byte[buffer.readableByteCount()];
                    buffer.read(body);
                    DataBufferUtils.release(buffer);
                    return body;
                })
                .defaultIfEmpty(new byte[0])
                .onErrorReturn(DataBufferLimitException.class, new byte[FaultsRequestHandler.DOCUMENT_MAX_BYTES + 1])
                .map(body -> control.handle(exchange.getRequest().getMethod().name(), caller(exchange), body))
                .flatMap(answer -> write(exchange.getResponse(), answer));
    }

    private static @Nullable InetAddress caller(ServerWebExchange exchange) {
        InetSocketAddress address = exchange.getRequest().getRemoteAddress();
        return address == null ? null : address.getAddress();
    }

    private static Mono<Void> write(ServerHttpResponse response, FaultsAnswer answer) {
        response.setStatusCode(answer.status());
        response.getHeaders().set(HttpHeaders.CONTENT_TYPE, answer.contentType());
        if (answer.status() == HttpStatus.METHOD_NOT_ALLOWED) {
            response.getHeaders().set(HttpHeaders.ALLOW, FaultsAnswer.ALLOW);
        }
        return response.writeWith(Mono.fromSupplier(
                () -> response.bufferFactory().wrap(answer.body().getBytes(StandardCharsets.UTF_8))));
    }
}
