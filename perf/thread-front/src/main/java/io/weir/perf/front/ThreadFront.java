package io.weir.perf.front;

import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/**
 * Forwards {@code GET /BACKEND/**} on the request thread to {@code backends.BACKEND}, for mvc and reactive.
 */
@SpringBootApplication
@RestController
public class ThreadFront {

    private final Map<String, String> backends;
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    ThreadFront(@Value("${backends.mvc}") String mvc, @Value("${backends.reactive}") String reactive) {
        this.backends = Map.of("mvc", mvc, "reactive", reactive);
    }

    public static void main(String[] args) {
        SpringApplication.run(ThreadFront.class, args);
    }

    @GetMapping("/{backend}/**")
    ResponseEntity<byte[]> forward(@PathVariable String backend, HttpServletRequest request)
            throws InterruptedException {
        String base = backends.get(backend);
        if (base == null) {
            return ResponseEntity.notFound().build();
        }
        String query = request.getQueryString();
        URI uri = URI.create(
                base + request.getRequestURI().substring(backend.length() + 1) + (query == null ? "" : "?" + query));
        try {
            HttpResponse<byte[]> answer =
                    http.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofByteArray());
            return ResponseEntity.status(answer.statusCode()).body(answer.body());
        } catch (IOException e) {
            return ResponseEntity.status(HttpStatus.BAD_GATEWAY).build();
        }
    }
}
