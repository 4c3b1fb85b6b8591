package io.weir.apply;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import org.junit.jupiter.api.Test;

/** The door of a planned route. */
class PlannedRouteTest {

    private static PlannedRoute madeInCode(String uri) {
        return new PlannedRoute(new GeneralRoutesFactory.RouteSource("orders", URI.create(uri), null), null);
    }

    @Test
    void isGeneralIfItLeadsElsewhereOrIsMadeInCode() {
        assertThat(madeInCode("http://elsewhere").whyGeneral()).isEqualTo("leads to http://, not to a backend");
        assertThat(madeInCode("backend://orders").whyGeneral()).isEqualTo("made in code");
    }
}
