package io.weir.ratelimit;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.async.RedisScriptingAsyncCommands;
import io.weir.ratelimit.SharedBuckets.Rate;
import io.weir.ratelimit.SharedBuckets.Taken;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** The script with which Redis takes a permit of a bucket in one round trip. */
final class RedisScript {

    /**
     * The generic cell rate algorithm: the bucket's only state is the moment at which it is full, in
     * microseconds of Redis' own clock. The bucket expires at that moment, since a full one is as a new one.
     * Returns whether there is a permit, the permits that are left, and the microseconds to the next one.
     * Half a microsecond is added where a fraction could be lost.
     */
    private static final String SCRIPT = """
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]
            local step = tonumber(ARGV[1])
            local room = step * tonumber(ARGV[2])
            local full = math.max(now, tonumber(redis.call('GET', KEYS[1]) or '0')) + step
            local over = full - now - room
            if over > 0.5 then
              return {0, 0, math.ceil(over)}
            end
            redis.call('SET', KEYS[1], string.format('%.2f', full), 'PX', math.ceil((full - now) / 1000))
            local left = math.max(0, -over)
            local remaining = math.floor((left + 0.5) / step)
            return {1, remaining, math.ceil(math.max(0, (remaining + 1) * step - left))}
            """;

    /**
     * Begins the error of a server that does not count at present, and perhaps never again: a replica, one
     * that loads its data or has lost its primary or its replicas, one whose cluster is down. Redis before 7
     * puts the error of a command in a script into another error.
     */
    private static final Pattern UNFIT_SERVER =
            Pattern.compile("(?:^|[ -])(?:READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|NOREPLICAS) ");

    private static final String SHA = sha1(SCRIPT);
    private static final long NANOS_PER_MICRO = TimeUnit.MICROSECONDS.toNanos(1);

    private RedisScript() {}

    /** Takes a permit of a bucket. Fails with an error of Redis, perhaps in a {@link CompletionException}. */
    static CompletionStage<Taken> run(RedisScriptingAsyncCommands<String, String> commands, String key, Rate rate) {
        String[] keys = {key};
        String step = Double.toString(rate.microsPerPermit());
        String burst = Long.toString(rate.burst());
        CompletionStage<List<Long>> reply =
                commands.<List<Long>>evalsha(SHA, ScriptOutputType.MULTI, keys, step, burst);
        return reply.exceptionallyCompose(failure -> cause(failure) instanceof RedisNoScriptException
                        // Once after each start of Redis.
                        ? commands.<List<Long>>eval(SCRIPT, ScriptOutputType.MULTI, keys, step, burst)
                        : CompletableFuture.failedFuture(failure))
                .thenApply(RedisScript::taken);
    }

    private static Taken taken(List<Long> reply) {
        return new Taken(reply.get(0) == 1, reply.get(1), reply.get(2) * NANOS_PER_MICRO);
    }

    /** Whether the server that has answered with this error cannot count, while another one perhaps can. */
    static boolean isOfUnfitServer(Throwable failure) {
        Throwable cause = cause(failure);
        return cause instanceof RedisCommandExecutionException
                && UNFIT_SERVER.matcher(String.valueOf(cause.getMessage())).find();
    }

    /** The failure itself, of a stage or of the stages before it. */
    static Throwable cause(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }

    private static String sha1(String text) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-1").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-1", e);
        }
    }
}
