package io.weir.authorization;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.AsciiString;
import io.weir.edge.OtherSpellings;
import java.util.List;

/**
 * What a route asks its authorizer, and what it makes of the answer. Immutable.
 */
public final class AuthorizationRule {

    private static final int FIRST_REDIRECT = 300;
    private static final int FIRST_FAILURE = 500;

    /** What an answer of the authorizer says. */
    public enum Verdict {
        /** The request may use the route. */
        ALLOWS,
        /** It may not, and the answer is for the caller. */
        DENIES,
        /** Nothing: the authorizer has failed. */
        FAILS
    }

    private final String target;
    private final List<AsciiString> in;
    private final List<AsciiString> out;
    private final OtherSpellings otherSpellings;
    private final boolean passesOnFailure;

    /** The rule of a route. */
    public AuthorizationRule(AuthorizeProperties properties) {
        this.target = properties.path();
        this.in = properties.headersIn().stream().map(AsciiString::cached).toList();
        this.out = properties.headersOut().stream().map(AsciiString::cached).toList();
        this.otherSpellings = new OtherSpellings(out);
        this.passesOnFailure = properties.onFailure() == OnFailure.PASS;
    }

    /** The path and query of the request to the authorizer. */
    public String target() {
        return target;
    }

    /** Whether a request goes on to the backend although its authorizer has failed. */
    public boolean passesOnFailure() {
        return passesOnFailure;
    }

    /** Copies the fields that the authorizer gets from the request. */
    public void copyRequest(HttpHeaders received, HttpHeaders toAuthorizer) {
        copy(in, received, toAuthorizer);
    }

    /** What an answer with this status says. */
    public static Verdict verdict(int status) {
        if (status >= HttpResponseStatus.OK.code() && status < FIRST_REDIRECT) {
            return Verdict.ALLOWS;
        }
        // A 304 has no meaning without a condition.
        boolean isDenial =
                status >= FIRST_REDIRECT && status < FIRST_FAILURE && status != HttpResponseStatus.NOT_MODIFIED.code();
        return isDenial ? Verdict.DENIES : Verdict.FAILS;
    }

    /** The authorization by an answer that allows the request. */
    public Authorization allowed(HttpHeaders answer) {
        if (out.isEmpty()) {
            return Authorization.without(AuthorizationResult.ALLOWED);
        }
        HttpHeaders granted = new DefaultHttpHeaders();
        copy(out, answer, granted);
        return new Authorization(AuthorizationResult.ALLOWED, granted);
    }

    /** Replaces the fields that only the authorizer may set, in the head for the backend. */
    public void writeGranted(Authorization authorization, HttpHeaders toBackend) {
        removeForged(toBackend);
        copy(out, authorization.granted(), toBackend);
    }

    /** Removes the fields that only the authorizer may set, in every spelling. */
    public void removeForged(HttpHeaders fields) {
        if (!out.isEmpty()) {
            otherSpellings.removeFrom(fields);
            out.forEach(fields::remove);
        }
    }

    private static void copy(List<AsciiString> names, HttpHeaders from, HttpHeaders to) {
        for (AsciiString name : names) {
            if (from.contains(name)) {
                to.set(name, from.getAll(name));
            }
        }
    }
}
