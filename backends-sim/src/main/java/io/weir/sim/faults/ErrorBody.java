package io.weir.sim.faults;

import java.nio.charset.StandardCharsets;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;

/** The body of an error answer that a fault causes, the same in every stack. */
final class ErrorBody {

    static final String CONTENT_TYPE = MediaType.APPLICATION_PROBLEM_JSON_VALUE;

    private ErrorBody() {}

    /** Accepts any status, also one without a standard reason phrase. */
    static byte[] of(int status) {
        HttpStatus named = HttpStatus.resolve(status);
        return ("{\"title\":\"" + (named == null ? "Error" : named.getReasonPhrase()) + "\",\"status\":" + status
                        + ",\"detail\":\"an injected fault\"}")
                .getBytes(StandardCharsets.UTF_8);
    }
}
