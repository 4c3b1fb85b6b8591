package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.context.properties.ConfigurationPropertiesBindHandlerAdvisor;
import org.springframework.cloud.gateway.filter.AdaptCachedBodyGlobalFilter;
import org.springframework.cloud.gateway.filter.GatewayFilterChain;
import org.springframework.cloud.gateway.filter.GlobalFilter;
import org.springframework.context.annotation.AnnotatedBeanDefinitionReader;
import org.springframework.context.annotation.ConfigurationClassPostProcessor;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

class RoutingConfigurationTest {

    private final DefaultListableBeanFactory beans = new DefaultListableBeanFactory();

    /** A filter of the gateway itself, which is in its package. */
    private static final class OwnFilter implements GlobalFilter {

        @Override
        public Mono<Void> filter(ServerWebExchange exchange, GatewayFilterChain chain) {
            return chain.filter(exchange);
        }
    }

    @Test
    void compilesRoutesBesideTheFiltersOfSpringAndTheGateway() {
        beans.registerBeanDefinition("spring", new RootBeanDefinition(AdaptCachedBodyGlobalFilter.class));
        beans.registerBeanDefinition("own", new RootBeanDefinition(OwnFilter.class));

        assertThat(RoutingConfiguration.foreignFilter(beans)).isNull();
    }

    /** A class of a foreign package, as an extension's is. */
    private static GlobalFilter foreign() {
        return (GlobalFilter) Proxy.newProxyInstance(
                GlobalFilter.class.getClassLoader(),
                new Class<?>[] {GlobalFilter.class},
                (proxy, method, given) -> null);
    }

    @Test
    void compilesNoRouteBesideAGlobalFilterOfAnExtension() {
        beans.registerSingleton("audit", foreign());

        assertThat(RoutingConfiguration.foreignFilter(beans)).isEqualTo("GlobalFilter audit");
    }

    @Test
    void bindsRoutesInATimeProportionalToTheirNumber() {
        new AnnotatedBeanDefinitionReader(beans).register(RoutingConfiguration.class);
        ConfigurationClassPostProcessor processor = new ConfigurationClassPostProcessor();
        processor.setEnvironment(new StandardEnvironment());
        processor.postProcessBeanDefinitionRegistry(beans);

        assertThat(beans.getBeanNamesForType(ConfigurationPropertiesBindHandlerAdvisor.class, true, false))
                .containsExactly("routesBinding");
    }
}
