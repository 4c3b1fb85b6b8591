package io.weir.authentication;

/** The result of the check of a request's token. */
public sealed interface TokenVerdict permits VerifiedToken, AuthenticationRefusal, KeysAwaited {}
