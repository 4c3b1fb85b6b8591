package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.edge.TrailerFields;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Passes trailers on: a backend's, or the gateway's own. */
final class Trailers {

    private static final Logger log = LoggerFactory.getLogger(Trailers.class);

    private Trailers() {}

    /** Adds the fields that a trailer section may contain; others (RFC 9110, section 6.5.1) are dropped. */
    static Consumer<HttpHeaders> adding(HttpHeaders trailers) {
        return target -> {
            for (Map.Entry<String, String> field : trailers) {
                if (TrailerFields.belongsToHead(field.getKey())) {
                    continue;
                }
                try {
                    target.add(field.getKey(), field.getValue());
                } catch (IllegalArgumentException e) {
                    log.debug("Trailer field {} dropped", field.getKey());
                }
            }
        };
    }
}
