package io.weir.testing;

import io.weir.outcome.Reason;
import io.weir.testing.TestBackend.Conversation;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Semaphore;

/**
 * A fault of a backend that breaks the protocol or stops. Tests that sweep over faults use these.
 *
 * <p>A fault of {@link Stage#BEFORE_ANSWER} shows before the gateway has passed anything on; the caller gets
 * a refusal. A fault of {@link Stage#AMID_ANSWER} shows when the caller has the beginning of the answer; the
 * caller gets a reset.
 */
public enum BackendFault {
    RESETS_AT_ONCE(Stage.BEFORE_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> conversation.reset()),
    CLOSES_AT_ONCE(Stage.BEFORE_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> conversation.close()),
    RESETS_IN_HEAD(Stage.BEFORE_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Content-Le");
        conversation.reset();
    }),
    CLOSES_IN_HEAD(Stage.BEFORE_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Content-Le");
        conversation.close();
    }),
    SPEAKS_ANOTHER_PROTOCOL(
            Stage.BEFORE_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) -> conversation.write("220 mail ready\r\n\r\n")),
    SENDS_MALFORMED_STATUS(
            Stage.BEFORE_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) -> conversation.write("HTTP/1.1 2x0 OK\r\n\r\n")),
    SENDS_STATUS_OF_TWO_DIGITS(
            Stage.BEFORE_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) -> conversation.write("HTTP/1.1 42 Well\r\nContent-Length: 0\r\n\r\n")),
    SENDS_MALFORMED_FIELD_NAME(
            Stage.BEFORE_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) -> conversation.write(head + "B(a)d: 1\r\nContent-Length: 0\r\n\r\n")),
    SENDS_CONTROL_CHARACTER_IN_FIELD(
            Stage.BEFORE_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) -> conversation.write(head + "Bad: \0\r\nContent-Length: 0\r\n\r\n")),
    SENDS_LENGTH_AND_CHUNKS(
            Stage.BEFORE_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) -> conversation.write(
                    head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")),
    SENDS_TWO_LENGTHS(
            Stage.BEFORE_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) ->
                    conversation.write(head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")),
    SENDS_MALFORMED_LENGTH(
            Stage.BEFORE_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) -> conversation.write(head + "Content-Length: many\r\n\r\nabcd")),
    SENDS_TOO_LARGE_HEAD(
            Stage.BEFORE_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) ->
                    conversation.write(head + "X-Large: " + "x".repeat(70_000) + "\r\nContent-Length: 0\r\n\r\n")),
    RESETS_IN_SMALL_BODY(Stage.BEFORE_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Content-Length: 10\r\n\r\nabc");
        conversation.reset();
    }),
    CLOSES_IN_SMALL_BODY(Stage.BEFORE_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Content-Length: 10\r\n\r\nabc");
        conversation.close();
    }),
    NEVER_ANSWERS(
            Stage.BEFORE_ANSWER,
            Reason.DEADLINE_EXCEEDED,
            (head, conversation, begun) -> conversation.in().read()),
    STOPS_IN_HEAD(Stage.BEFORE_ANSWER, Reason.DEADLINE_EXCEEDED, (head, conversation, begun) -> {
        conversation.write(head + "X-Slow: ");
        conversation.in().read();
    }),
    STOPS_IN_SMALL_BODY(Stage.AMID_ANSWER, Reason.DEADLINE_EXCEEDED, (head, conversation, begun) -> {
        conversation.write(head + "Content-Length: 10\r\n\r\nabc");
        conversation.in().read();
    }),
    TRICKLES_SMALL_BODY(Stage.AMID_ANSWER, Reason.DEADLINE_EXCEEDED, (head, conversation, begun) -> {
        conversation.write(head + "Content-Length: 600\r\n\r\n");
        trickle(conversation, "x");
    }),

    RESETS_IN_LARGE_BODY(Stage.AMID_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Content-Length: 100000\r\n\r\nabc");
        begun.acquire();
        conversation.reset();
    }),
    CLOSES_IN_LARGE_BODY(Stage.AMID_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Content-Length: 100000\r\n\r\nabc");
        conversation.close();
    }),
    RESETS_BETWEEN_CHUNKS(Stage.AMID_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        begun.acquire();
        conversation.reset();
    }),
    CLOSES_BETWEEN_CHUNKS(Stage.AMID_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        conversation.close();
    }),
    CLOSES_IN_CHUNK(Stage.AMID_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Transfer-Encoding: chunked\r\n\r\n10\r\nabc");
        conversation.close();
    }),
    SENDS_MALFORMED_CHUNK_AT_ONCE(
            Stage.AMID_ANSWER,
            Reason.CONNECTION_LOST,
            (head, conversation, begun) ->
                    conversation.write(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n")),
    SENDS_MALFORMED_CHUNK_LATER(Stage.AMID_ANSWER, Reason.CONNECTION_LOST, (head, conversation, begun) -> {
        conversation.write(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        begun.acquire();
        conversation.write("nonsense\r\n");
    }),
    STOPS_IN_LARGE_BODY(Stage.AMID_ANSWER, Reason.DEADLINE_EXCEEDED, (head, conversation, begun) -> {
        conversation.write(head + "Content-Length: 100000\r\n\r\nabc");
        conversation.in().read();
    }),
    STOPS_BETWEEN_CHUNKS(Stage.AMID_ANSWER, Reason.DEADLINE_EXCEEDED, (head, conversation, begun) -> {
        conversation.write(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        conversation.in().read();
    }),
    TRICKLES_CHUNKS(Stage.AMID_ANSWER, Reason.DEADLINE_EXCEEDED, (head, conversation, begun) -> {
        conversation.write(head + "Transfer-Encoding: chunked\r\n\r\n");
        trickle(conversation, "1\r\nx\r\n");
    });

    /** How far the answer is when the fault shows. */
    public enum Stage {
        /** The caller has nothing of the answer. */
        BEFORE_ANSWER,
        /** The caller has the head and the beginning of the body. */
        AMID_ANSWER
    }

    @FunctionalInterface
    private interface Script {

        void run(String head, Conversation conversation, Semaphore begun) throws IOException, InterruptedException;
    }

    private static final long TRICKLE_MILLIS = 20;

    private final Stage stage;
    private final Reason reason;

    @SuppressWarnings("ImmutableEnumChecker") // A lambda without a state.
    private final Script script;

    BackendFault(Stage stage, Reason reason, Script script) {
        this.stage = stage;
        this.reason = reason;
        this.script = script;
    }

    /** The faults of a stage. */
    public static List<BackendFault> of(Stage stage) {
        return Arrays.stream(values()).filter(fault -> fault.stage == stage).toList();
    }

    /** The reason in which the exchange ends. */
    public Reason reason() {
        return reason;
    }

    /** Whether the exchange ends by its deadline. */
    public boolean isLate() {
        return reason == Reason.DEADLINE_EXCEEDED;
    }

    /**
     * A backend with this fault.
     *
     * @param head the answer's status line and first fields, each with its line end
     * @param begun released when the caller has the beginning of the answer
     */
    public TestBackend.Behaviour behaviour(String head, Semaphore begun) {
        return (request, conversation) -> script.run(head, conversation, begun);
    }

    private static void trickle(Conversation conversation, String piece) throws IOException, InterruptedException {
        while (true) {
            conversation.write(piece);
            Thread.sleep(TRICKLE_MILLIS);
        }
    }
}
