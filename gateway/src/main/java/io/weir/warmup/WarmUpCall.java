package io.weir.warmup;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * A kind of call in a warm-up.
 *
 * @param path the path in the folder
 * @param bytes the request
 * @param statuses the expected statuses of the answer
 */
@SuppressWarnings("ArrayRecordComponent") // Compared by nobody.
record WarmUpCall(String path, byte[] bytes, Set<Integer> statuses) {

    static final String NOWHERE = "nowhere";

    private static final int UPLOAD_BYTES = 2_000;

    /**
     * The calls of a round, each as often as it occurs there.
     *
     * @param folder the first segments of each path, without slashes around them
     */
    static List<WarmUpCall> round(String folder, boolean hasHttp2Backend, boolean hasGeneralRoutes) {
        List<WarmUpCall> calls = new ArrayList<>();
        add(calls, 30, get(folder, "forward/small", 200));
        add(calls, 8, get(folder, "stripped/small", 200));
        add(calls, 4, post(folder, "forward/small"));
        add(calls, 2, get(folder, "queue/" + PrivateBackend.PAUSE, 200));
        add(calls, 1, get(folder, "full/" + PrivateBackend.PAUSE, 200, 503));
        add(calls, 1, get(folder, "limited/small", 200, 429));
        add(calls, 1, get(folder, "retry/" + PrivateBackend.FLAKY, 200, 503));
        add(calls, 1, get(folder, "forward/" + PrivateBackend.LARGE, 200));
        add(calls, 1, get(folder, NOWHERE, 404));
        // Without an answer, the breaker would open.
        add(calls, 2, get(folder, "timeout/small", 200, 504));
        if (hasHttp2Backend) {
            add(calls, 12, get(folder, "h2/small", 200));
        }
        if (hasGeneralRoutes) {
            add(calls, 20, get(folder, PrivateConfiguration.GENERAL + "/small", 200));
        }
        // Rare calls must not come in a row.
        Collections.shuffle(calls, new Random(calls.size()));
        return List.copyOf(calls);
    }

    /** A call that meets its deadline. It takes a while, so it is rare. */
    static WarmUpCall timeout(String folder) {
        return get(folder, "timeout/" + PrivateBackend.SLOW, 504, 200);
    }

    private static void add(List<WarmUpCall> calls, int times, WarmUpCall call) {
        calls.addAll(Collections.nCopies(times, call));
    }

    private static WarmUpCall get(String folder, String path, Integer... statuses) {
        return new WarmUpCall(path, bytes("GET", folder, path, "", ""), Set.of(statuses));
    }

    private static WarmUpCall post(String folder, String path) {
        String fields = "Content-Type: text/plain\r\nContent-Length: " + UPLOAD_BYTES + "\r\n";
        return new WarmUpCall(path, bytes("POST", folder, path, fields, "w".repeat(UPLOAD_BYTES)), Set.of(200));
    }

    private static byte[] bytes(String method, String folder, String path, String fields, String body) {
        String request = method + " /" + folder + '/' + path
                + " HTTP/1.1\r\nHost: weir.invalid\r\nUser-Agent: weir-warm-up\r\nAccept: */*\r\n"
                + "Accept-Encoding: gzip\r\nCookie: a=b\r\n" + fields + "\r\n" + body;
        return request.getBytes(StandardCharsets.US_ASCII);
    }
}
