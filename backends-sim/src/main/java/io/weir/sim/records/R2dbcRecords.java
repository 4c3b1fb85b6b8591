package io.weir.sim.records;

import io.r2dbc.spi.Readable;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Objects;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The records over R2DBC. */
@Component
@ConditionalOnStack({Stack.MVC_R2DBC, Stack.WEBFLUX_R2DBC})
class R2dbcRecords implements ReactiveRecords {

    private final DatabaseClient client;

    R2dbcRecords(DatabaseClient client) {
        this.client = client;
    }

    @Override
    public Flux<StoredRecord> firstTen() {
        return client.sql(RecordsSql.FIRST_TEN).map(R2dbcRecords::record).all();
    }

    @Override
    public Mono<StoredRecord> insert(NewRecord.ValidRecord newRecord) {
        return client.sql(RecordsSql.INSERT)
                .bind("name", newRecord.name())
                .bind("amount", newRecord.amount())
                .map(R2dbcRecords::record)
                .one();
    }

    @Override
    public Mono<StoredRecord> update(long id, NewRecord.ValidRecord newRecord) {
        return client.sql(RecordsSql.UPDATE)
                .bind("id", id)
                .bind("name", newRecord.name())
                .bind("amount", newRecord.amount())
                .map(R2dbcRecords::record)
                .one()
                .switchIfEmpty(Mono.error(() -> RecordsSql.unknownId(id)));
    }

    @Override
    public Mono<SleepAnswer> sleep(Duration time) {
        return client.sql(RecordsSql.SLEEP)
                .bind("seconds", time.toMillis() / 1000.0)
                .map(row -> new SleepAnswer(time.toMillis()))
                .one();
    }

    private static StoredRecord record(Readable row) {
        return new StoredRecord(
                required(row, "id", Long.class),
                required(row, "name", String.class),
                required(row, "amount", Integer.class),
                required(row, "created_at", OffsetDateTime.class).toInstant());
    }

    private static <T> T required(Readable row, String column, Class<T> type) {
        return Objects.requireNonNull(row.get(column, type), column);
    }
}
