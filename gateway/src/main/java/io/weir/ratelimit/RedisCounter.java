package io.weir.ratelimit;

/** Shared buckets in Redis, with what its meters show. */
public interface RedisCounter extends SharedBuckets, AutoCloseable {

    /** The share of all keys whose server answers; 0 to 1. */
    double availableShare();

    /** Requests that this gateway has decided about by itself, since the start. */
    long localDecisions();

    /** Closes the connections, and ends Lettuce's threads. */
    @Override
    void close();
}
