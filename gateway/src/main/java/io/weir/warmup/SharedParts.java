package io.weir.warmup;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.config.WeirProperties;
import io.weir.door.LiveRoutes;
import io.weir.door.RouteCompiler;
import io.weir.edge.EdgeShedding;
import io.weir.edge.ServerTls;
import io.weir.overload.OverloadGuard;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationContext;
import org.springframework.core.convert.ConversionService;
import reactor.netty.resources.LoopResources;

/**
 * The parts of the gateway that its private copy uses, and the makers of further ones.
 *
 * @param properties those of the gateway: they tell which protocols it speaks
 * @param loops the gateway's event loops
 * @param context has Spring Cloud Gateway's factories
 * @param conversion WebFlux's conversion service
 * @param compiler compiles routes; it keeps nothing of them
 * @param registry makes a registry of meters, of the class of the gateway's
 * @param shedding makes the edge's shedding of a guard
 * @param tls the TLS of the gateway's server; null: it has none, or its callers need certificates
 * @param hasGeneralRoutes whether a route of the gateway is one of the general door
 * @param speaksHttp2 whether the gateway's server speaks HTTP/2
 * @param nanoClock {@link System#nanoTime}
 */
public record SharedParts(
        WeirProperties properties,
        LoopResources loops,
        ApplicationContext context,
        ConversionService conversion,
        RouteCompiler compiler,
        Supplier<MeterRegistry> registry,
        BiFunction<OverloadGuard, Supplier<LiveRoutes>, EdgeShedding> shedding,
        @Nullable ServerTls tls,
        boolean hasGeneralRoutes,
        boolean speaksHttp2,
        LongSupplier nanoClock) {}
