package io.weir.engine;

import java.util.Set;

/** What a backend does wrong in a {@link Storm}, and what the caller of that exchange may see. */
enum Misbehaviour {
    EXCESS_NONE(Target.EXCESS, "GET", 200, End.COMPLETE),
    BODY_AFTER_HEAD(Target.EXCESS, "HEAD", 200, End.COMPLETE),
    BODY_AFTER_204(Target.EXCESS, "DELETE", 204, End.COMPLETE),
    BODY_AFTER_304(Target.EXCESS, "GET", 304, End.COMPLETE),
    SECOND_ANSWER(Target.EXCESS, "GET", 200, End.COMPLETE),
    SECOND_ANSWER_TO_POST(Target.EXCESS, "POST", 200, End.COMPLETE),
    SECOND_ANSWER_AFTER_CHUNKS(Target.EXCESS, "GET", 200, End.COMPLETE),
    PART_OF_SECOND_ANSWER(Target.EXCESS, "GET", 200, End.COMPLETE),
    GARBAGE_AFTER_ANSWER(Target.EXCESS, "GET", 200, End.COMPLETE),

    /** Nothing is wrong with this answer; its connection may be lost for what came before. */
    BROKEN_NONE(Target.BROKEN, "GET", 200, End.ANY),
    GARBAGE_LATER(Target.BROKEN, "GET", 200, End.ANY),
    CLOSES_AFTER_ANSWER(Target.BROKEN, "GET", 200, End.ANY),
    CLOSES_IN_LENGTH(Target.BROKEN, "GET", 200, End.BROKEN),
    CLOSES_IN_CHUNKS(Target.BROKEN, "GET", 200, End.BROKEN),
    RESETS_IN_ANSWER(Target.BROKEN, "GET", 200, End.BROKEN),
    EARLY_ANSWER(Target.BROKEN, "PUT", 413, End.ANY),
    SILENT(Target.BROKEN, "GET", 200, End.BROKEN),

    TLS_ENDS_IN_ORDER(Target.TLS, "GET", 200, End.COMPLETE),
    TLS_ENDS_AFTER_LENGTH(Target.TLS, "GET", 200, End.COMPLETE),
    TLS_ENDS_WITHOUT_CLOSE_NOTIFY(Target.TLS, "GET", 200, End.BROKEN),

    HTTP2_NONE(Target.LENGTHS, "GET", 200, End.COMPLETE),
    HTTP2_ENDS_WITH_HEAD(Target.LENGTHS, "GET", 200, End.BROKEN),
    HTTP2_SHORTER(Target.LENGTHS, "GET", 200, End.BROKEN),
    HTTP2_LONGER(Target.LENGTHS, "GET", 200, End.BROKEN),
    HTTP2_BODY_AFTER_HEAD(Target.LENGTHS, "HEAD", 200, End.ANY),
    HTTP2_BODY_AFTER_204(Target.LENGTHS, "GET", 204, End.ANY),
    HTTP2_RESETS_IN_ANSWER(Target.LENGTHS, "GET", 200, End.BROKEN),
    HTTP2_EARLY_ANSWER(Target.LENGTHS, "PUT", 413, End.COMPLETE),

    /** Nothing is wrong with this answer; its connection may be lost for what others get. */
    HTTP2_DYING_NONE(Target.DYING, "GET", 200, End.ANY),
    HTTP2_GOES_AWAY(Target.DYING, "GET", 200, End.ANY),
    HTTP2_DISCONNECTS(Target.DYING, "GET", 200, End.BROKEN),
    /** The connection is dead without a FIN. */
    HTTP2_DIES(Target.DYING, "GET", 200, End.BROKEN);

    /** The backend, which is also its route's name. */
    enum Target {
        /** Over HTTP/1.1, answers are complete, and more follows in the same packet. */
        EXCESS("excess"),
        /** Over HTTP/1.1, connections and answers break. */
        BROKEN("broken"),
        /** Over TLS, answers end with their connections. */
        TLS("tls"),
        /** Over HTTP/2, streams have wrong lengths and ends. */
        LENGTHS("lengths"),
        /** Over HTTP/2, connections end with all their streams. */
        DYING("dying");

        final String word;

        Target(String word) {
            this.word = word;
        }
    }

    /** What the caller must see. */
    enum End {
        /** The whole answer, and nothing else. */
        COMPLETE,
        /** A refusal or a reset, and never a complete answer. */
        BROKEN,
        /** Either of both. */
        ANY
    }

    final Target target;
    final String method;
    final int status;
    final End end;

    Misbehaviour(Target target, String method, int status, End end) {
        this.target = target;
        this.method = method;
        this.status = status;
        this.end = end;
    }

    /** Whether the backend answers while the body is on its way. */
    boolean isUpload() {
        return method.equals("PUT");
    }

    /** The time that the caller gives the exchange. */
    String timeout() {
        return isImpatient() ? "150ms" : "20s";
    }

    private boolean isImpatient() {
        return this == SILENT || target == Target.DYING;
    }

    /** The outcomes in the access log that fit. */
    boolean explains(String outcome) {
        return switch (end) {
            case COMPLETE -> answers().contains(outcome);
            case BROKEN -> failures().contains(outcome);
            case ANY -> answers().contains(outcome) || failures().contains(outcome);
        };
    }

    private Set<String> answers() {
        String answered = status / 100 + "xx";
        // A caller that has the whole answer to an upload leaves, maybe before the end of the exchange.
        return isUpload() ? Set.of(answered, "client-closed") : Set.of(answered);
    }

    private Set<String> failures() {
        // The deadline may pass after the answer, before the caller has read it.
        return isImpatient()
                ? Set.of("connection-lost", "deadline-exceeded", "client-too-slow")
                : Set.of("connection-lost", "deadline-exceeded");
    }
}
