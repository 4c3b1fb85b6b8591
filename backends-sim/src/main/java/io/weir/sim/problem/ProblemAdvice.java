package io.weir.sim.problem;

import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.server.ServerWebInputException;

/**
 * Answers failures with {@code application/problem+json}. Spring MVC and WebFlux describe the same failure
 * with different texts; this class gives the failures that both report one text.
 */
@RestControllerAdvice
@Order(Ordered.HIGHEST_PRECEDENCE) // Spring Boot's handler texts differ between MVC and WebFlux.
class ProblemAdvice {

    @ExceptionHandler
    ResponseEntity<ProblemDetail> refused(ProblemException refusal) {
        HttpHeaders headers = new HttpHeaders();
        if (refusal.retryAfter() != null) {
            headers.set(
                    HttpHeaders.RETRY_AFTER, Long.toString(refusal.retryAfter().toSeconds()));
        }
        return new ResponseEntity<>(
                problem(refusal.status(), refusal.title(), String.valueOf(refusal.getMessage())),
                headers,
                refusal.status());
    }

    /**
     * A request body that is not valid JSON or has wrong fields: MVC throws the first exception, WebFlux the
     * second.
     */
    @ExceptionHandler({HttpMessageNotReadableException.class, ServerWebInputException.class})
    ResponseEntity<ProblemDetail> unreadable(Exception unreadable) {
        return ResponseEntity.badRequest()
                .body(problem(
                        HttpStatus.BAD_REQUEST,
                        "Bad request",
                        "body: not readable (expected: {\"name\": text, \"amount\": whole number})"));
    }

    /** No connection in time: the pool is exhausted, or the database is unreachable. */
    @ExceptionHandler({DataAccessResourceFailureException.class, QueryTimeoutException.class})
    ResponseEntity<ProblemDetail> databaseUnavailable(Exception unavailable) {
        return refused(ProblemException.unavailable("Database unavailable", "no connection to the database in time"));
    }

    private static ProblemDetail problem(HttpStatus status, String title, String detail) {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(status, detail);
        problem.setTitle(title);
        return problem;
    }
}
