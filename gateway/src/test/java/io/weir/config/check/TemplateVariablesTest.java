package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.check.GatewayFactories.ForeignArguments;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.cloud.gateway.filter.factory.SetPathGatewayFilterFactory;

class TemplateVariablesTest {

    private static SetPathGatewayFilterFactory.Config setPath(String template) {
        SetPathGatewayFilterFactory.Config config = new SetPathGatewayFilterFactory.Config();
        config.setTemplate(template);
        return config;
    }

    @Test
    void refusesAVariableThatNoPredicateProvides() {
        assertThat(new TemplateVariables(List.of()).problem(setPath("/{tenant}")))
                .isPresent();
    }

    @Test
    void acceptsAnyVariableBesideAPredicateOfAnExtension() {
        TemplateVariables variables = new TemplateVariables(List.of(new ForeignArguments("any")));

        assertThat(variables.problem(setPath("/{tenant}"))).isEmpty();
        assertThat(variables.problem(setPath("{tenant}"))).isEmpty();
        assertThat(variables.problem(setPath("tenant"))).isPresent();
    }
}
