package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Passes a backend's trailers on. */
final class Trailers {

    private static final Logger log = LoggerFactory.getLogger(Trailers.class);

    private Trailers() {}

    /** Adds those that may stand in a trailer; a field that may not (RFC 9110, section 6.5.1) is left out. */
    static Consumer<HttpHeaders> into(HttpHeaders trailers) {
        return target -> {
            for (Map.Entry<String, String> field : trailers) {
                try {
                    target.add(field.getKey(), field.getValue());
                } catch (IllegalArgumentException e) {
                    log.debug("Trailer left out: {}", field.getKey());
                }
            }
        };
    }
}
