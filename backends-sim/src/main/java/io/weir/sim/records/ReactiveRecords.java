package io.weir.sim.records;

import java.time.Duration;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The records without a thread held: over R2DBC, or over JDBC on threads kept for that. */
interface ReactiveRecords {

    Flux<StoredRecord> firstTen();

    Mono<StoredRecord> insert(NewRecord.Checked written);

    Mono<StoredRecord> update(long id, NewRecord.Checked written);

    Mono<Slept> sleep(Duration time);
}
