package io.weir.management;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The bearer tokens of the management port, with their names and rights. */
final class ManagementTokens {

    /** The name of the holder of {@code weir.management.token}. */
    static final String OPERATOR = "operator";

    /** The name of the holder of {@code weir.management.read-only-token}. */
    static final String READ_ONLY = "read-only";

    private static final String SCHEME = "Bearer ";

    /**
     * The holder of a token.
     *
     * @param name the name in the audit
     * @param mayChange whether the token permits changes
     */
    record Holder(String name, boolean mayChange) {}

    private record KnownToken(String value, Holder holder) {}

    private final List<KnownToken> tokens = new ArrayList<>();

    ManagementTokens(ManagementProperties properties) {
        add(properties.token(), OPERATOR, true);
        add(properties.readOnlyToken(), READ_ONLY, false);
        properties.operators().forEach((name, token) -> add(token, name, true));
    }

    private void add(@Nullable String token, String name, boolean mayChange) {
        if (token != null) {
            tokens.add(new KnownToken(token, new Holder(name, mayChange)));
        }
    }

    /** Whether no token is configured, so that nobody needs one. */
    boolean isEmpty() {
        return tokens.isEmpty();
    }

    /**
     * The holder of the token in a request.
     *
     * @param authorization the field {@code Authorization}; null: none
     * @return null: no token, or an unknown one
     */
    @Nullable
    Holder holderOf(@Nullable String authorization) {
        if (authorization == null || !authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
            return null;
        }
        byte[] given = authorization.substring(SCHEME.length()).strip().getBytes(StandardCharsets.UTF_8);
        Holder holder = null;
        for (KnownToken token : tokens) {
            // Each comparison takes the same time wherever the values differ, and a match does not end the
            // loop.
            if (MessageDigest.isEqual(given, token.value().getBytes(StandardCharsets.UTF_8))) {
                holder = token.holder();
            }
        }
        return holder;
    }
}
