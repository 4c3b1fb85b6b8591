package io.weir.sim.records;

import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.List;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/** The records over JDBC: each call holds its thread and a connection until the database answers. */
@Component
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL, Stack.WEBFLUX_JDBC})
class JdbcRecords {

    private final JdbcClient client;

    JdbcRecords(JdbcClient client) {
        this.client = client;
    }

    List<StoredRecord> firstTen() {
        return client.sql(RecordsSql.FIRST_TEN).query(JdbcRecords::record).list();
    }

    StoredRecord insert(NewRecord.ValidRecord newRecord) {
        return client.sql(RecordsSql.INSERT)
                .param("name", newRecord.name())
                .param("amount", newRecord.amount())
                .query(JdbcRecords::record)
                .single();
    }

    StoredRecord update(long id, NewRecord.ValidRecord newRecord) {
        return client.sql(RecordsSql.UPDATE)
                .param("id", id)
                .param("name", newRecord.name())
                .param("amount", newRecord.amount())
                .query(JdbcRecords::record)
                .optional()
                .orElseThrow(() -> RecordsSql.unknownId(id));
    }

    SleepAnswer sleep(Duration time) {
        client.sql(RecordsSql.SLEEP)
                .param("seconds", time.toMillis() / 1000.0)
                .query((row, number) -> number)
                .single();
        return new SleepAnswer(time.toMillis());
    }

    private static StoredRecord record(ResultSet row, int number) throws SQLException {
        return new StoredRecord(
                row.getLong("id"),
                row.getString("name"),
                row.getInt("amount"),
                row.getObject("created_at", OffsetDateTime.class).toInstant());
    }
}
