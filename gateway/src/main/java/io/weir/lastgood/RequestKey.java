package io.weir.lastgood;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The key of an answer: everything in the request that can select it.
 *
 * <p>Every field for the backend is part of the key, except those that are known to select no answer, or
 * that {@code Vary} is there for. So a caller cannot place an answer that an unusual field has selected,
 * such as {@code X-Forwarded-Host} or {@code X-HTTP-Method-Override}, where requests without it find it.
 *
 * @param space the route's
 * @param fields names and values, in the order of the names
 * @param vary the values of the fields that {@code Vary} names; null: the key without them
 */
record RequestKey(
        AnswerSpace space,
        boolean isHead,
        String target,
        List<String> fields,
        @Nullable List<String> vary) {

    static final String AUTHORIZATION = "authorization";
    static final String COOKIE = "cookie";

    private static final String FORWARDED = "forwarded";

    /** A field that is missing differs from one that is empty. */
    private static final String MISSING = "\0";

    private static final int BYTES_PER_OBJECT = 64;

    /** Credentials have a rule of their own; {@code Host} depends on the instance. */
    private static final Set<String> SEPARATE = Set.of(AUTHORIZATION, COOKIE, "host");

    /**
     * Fields that describe the caller, its preferences, or the way of the request to here. An answer that
     * one of them selects must name it in {@code Vary}; other caches on the way rely on that, too.
     */
    private static final Set<String> NEUTRAL = Set.of(
            "accept-charset",
            "accept-encoding",
            "accept-language",
            "b3",
            "cache-control",
            "connection",
            "content-length",
            "expect",
            "grpc-timeout",
            "if-match",
            "if-modified-since",
            "if-none-match",
            "if-range",
            "if-unmodified-since",
            "keep-alive",
            "pragma",
            "priority",
            "range",
            "referer",
            "traceparent",
            "tracestate",
            "trailer",
            "transfer-encoding",
            "upgrade-insecure-requests",
            "user-agent",
            "via",
            "x-amzn-trace-id",
            "x-b3-flags",
            "x-b3-parentspanid",
            "x-b3-sampled",
            "x-b3-spanid",
            "x-b3-traceid",
            "x-cloud-trace-context",
            "x-correlation-id",
            "x-envoy-expected-rq-timeout-ms",
            "x-forwarded-for",
            "x-real-ip",
            "x-request-id",
            "x-request-timeout");

    /** Of browsers: the kind of request, and client hints. */
    private static final String SEC = "sec-";

    /**
     * The key of a request, without {@code vary}.
     *
     * @param keyHeaders names of the caller's fields that belong to the key
     * @param ignored a further field that selects no answer; empty: none
     */
    static RequestKey of(AnswerSpace space, LastGoodRequest request, Collection<String> keyHeaders, String ignored) {
        TreeMap<String, String> byName = new TreeMap<>();
        Iterator<Map.Entry<CharSequence, CharSequence>> all =
                request.toBackend().iteratorCharSequence();
        while (all.hasNext()) {
            Map.Entry<CharSequence, CharSequence> field = all.next();
            String name = field.getKey().toString().toLowerCase(Locale.ROOT);
            boolean isCredential = SEPARATE.contains(name) && request.received().contains(name);
            if (!isCredential && !isNeutral(name) && !name.equals(ignored)) {
                String value = field.getValue().toString();
                byName.merge(
                        name,
                        FORWARDED.equals(name) ? withoutAddresses(value) : value,
                        (one, other) -> one + ", " + other);
            }
        }
        String host = request.toBackend().get(HttpHeaderNames.HOST);
        if (host == null || host.equals(request.instanceHost())) {
            byName.remove("host");
        } else {
            byName.put("host", host);
        }
        List<String> fields = new ArrayList<>(2 * (byName.size() + keyHeaders.size()));
        byName.forEach((name, value) -> {
            fields.add(name);
            fields.add(value);
        });
        keyHeaders.forEach(name -> fields.add(value(request.received(), name)));
        return new RequestKey(space, request.isHead(), request.target(), List.copyOf(fields), null);
    }

    /** {@code Forwarded} (RFC 7239) with its hosts and schemes only: the addresses are the callers'. */
    private static String withoutAddresses(String forwarded) {
        StringJoiner kept = new StringJoiner(",");
        for (String element : forwarded.split(",", -1)) {
            for (String pair : element.split(";", -1)) {
                String lower = pair.strip().toLowerCase(Locale.ROOT);
                if (!lower.startsWith("for=") && !lower.startsWith("by=")) {
                    kept.add(pair.strip());
                }
            }
        }
        return kept.toString();
    }

    private static boolean isNeutral(String name) {
        return NEUTRAL.contains(name) || name.startsWith(SEC);
    }

    /** This key with the values of the fields that {@code Vary} names. */
    RequestKey with(Collection<String> varyNames, LastGoodRequest request) {
        List<String> values = new ArrayList<>(2 * varyNames.size());
        for (String name : varyNames) {
            values.add(name);
            values.add(isInstanceHost(name, request) ? MISSING : value(request.toBackend(), name));
        }
        return new RequestKey(space, isHead, target, fields, List.copyOf(values));
    }

    private static boolean isInstanceHost(String name, LastGoodRequest request) {
        return "host".equals(name)
                && request.instanceHost().equals(request.toBackend().get(HttpHeaderNames.HOST));
    }

    /** The key of the answer to the same request with GET. */
    RequestKey ofGet() {
        return new RequestKey(space, false, target, fields, vary);
    }

    private static String value(HttpHeaders headers, String name) {
        List<String> values = headers.getAll(name);
        return values.isEmpty() ? MISSING : String.join(", ", values).strip();
    }

    /** The approximate size of the key in memory. */
    int bytes() {
        int bytes = BYTES_PER_OBJECT + target.length() + bytes(fields);
        return vary == null ? bytes : bytes + bytes(vary);
    }

    private static int bytes(List<String> texts) {
        int bytes = BYTES_PER_OBJECT;
        for (String text : texts) {
            bytes += BYTES_PER_OBJECT + text.length();
        }
        return bytes;
    }
}
