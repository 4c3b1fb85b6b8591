package io.weir.sim.faults;

import java.nio.charset.StandardCharsets;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;

/** What a request that an error fault strikes is answered, the same in every stack. */
final class ErrorBody {

    static final String CONTENT_TYPE = MediaType.APPLICATION_PROBLEM_JSON_VALUE;

    private ErrorBody() {}

    static byte[] of(HttpStatus status) {
        return ("{\"title\":\"" + status.getReasonPhrase() + "\",\"status\":" + status.value()
                        + ",\"detail\":\"a fault that was asked for\"}")
                .getBytes(StandardCharsets.UTF_8);
    }
}
