package io.weir.dashboard;

import java.io.BufferedReader;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A client of a stream of the dashboard. */
final class TestStream implements AutoCloseable {

    private static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private final HttpResponse<InputStream> response;
    private final BufferedReader lines;

    TestStream(int port, String path, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path));
        if (headers.length > 0) {
            request.headers(headers);
        }
        this.response = CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        InputStream body =
                response.headers().firstValue("content-encoding").orElse("").equals("gzip")
                        ? new GZIPInputStream(response.body(), 64)
                        : response.body();
        this.lines = new BufferedReader(new InputStreamReader(new Unbuffered(body), StandardCharsets.UTF_8));
    }

    /**
     * Reports no available bytes, so that a reader does not wait for more: a GZIP stream always reports
     * some.
     */
    private static final class Unbuffered extends FilterInputStream {

        Unbuffered(InputStream in) {
            super(in);
        }

        @Override
        public int available() {
            return 0;
        }
    }

    /** The name and data of the next event. */
    Map.Entry<String, JsonNode> next() throws IOException {
        String name = "";
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.startsWith("event: ")) {
                name = line.substring("event: ".length());
            } else if (line.startsWith("data: ")) {
                return Map.entry(name, JsonMapper.shared().readTree(line.substring("data: ".length())));
            }
        }
        return Map.entry("end", JsonMapper.shared().createObjectNode());
    }

    /** A field of the response's head; empty if it has none. */
    String header(String name) {
        return response.headers().firstValue(name).orElse("");
    }

    @Override
    public void close() throws IOException {
        response.body().close();
    }
}
