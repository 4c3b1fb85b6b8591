package io.weir.sim.records;

import java.time.Duration;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The records behind a non-blocking interface: over R2DBC, or over JDBC on a separate thread pool. */
interface ReactiveRecords {

    Flux<StoredRecord> firstTen();

    Mono<StoredRecord> insert(NewRecord.ValidRecord newRecord);

    Mono<StoredRecord> update(long id, NewRecord.ValidRecord newRecord);

    Mono<SleepAnswer> sleep(Duration time);
}
