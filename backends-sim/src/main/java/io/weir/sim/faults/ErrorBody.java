package io.weir.sim.faults;

import java.nio.charset.StandardCharsets;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;

/** What a request that an error fault strikes is answered, the same in every stack. */
final class ErrorBody {

    static final String CONTENT_TYPE = MediaType.APPLICATION_PROBLEM_JSON_VALUE;

    private ErrorBody() {}

    /** Any status, also one that has no name. */
    static byte[] of(int status) {
        HttpStatus named = HttpStatus.resolve(status);
        return ("{\"title\":\"" + (named == null ? "Error" : named.getReasonPhrase()) + "\",\"status\":" + status
                        + ",\"detail\":\"a fault that was asked for\"}")
                .getBytes(StandardCharsets.UTF_8);
    }
}
