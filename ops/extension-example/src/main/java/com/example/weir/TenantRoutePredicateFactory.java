package com.example.weir;

import jakarta.validation.constraints.NotEmpty;
import java.util.List;
import java.util.function.Predicate;
import org.springframework.cloud.gateway.handler.predicate.AbstractRoutePredicateFactory;
import org.springframework.validation.annotation.Validated;
import org.springframework.web.server.ServerWebExchange;

/** The predicate {@code Tenant=acme,globex}: matches requests of these tenants. */
public class TenantRoutePredicateFactory extends AbstractRoutePredicateFactory<TenantRoutePredicateFactory.Config> {

    /** The predicate's arguments. */
    @Validated
    public static class Config {

        @NotEmpty
        private List<String> tenants = List.of();

        public List<String> getTenants() {
            return tenants;
        }

        public void setTenants(List<String> tenants) {
            this.tenants = List.copyOf(tenants);
        }
    }

    public TenantRoutePredicateFactory() {
        super(Config.class);
    }

    @Override
    public List<String> shortcutFieldOrder() {
        return List.of("tenants");
    }

    @Override
    public ShortcutType shortcutType() {
        return ShortcutType.GATHER_LIST;
    }

    @Override
    public Predicate<ServerWebExchange> apply(Config config) {
        return exchange -> Tenant.of(exchange.getRequest()).filter(config.getTenants()::contains).isPresent();
    }
}
