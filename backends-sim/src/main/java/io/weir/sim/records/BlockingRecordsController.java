package io.weir.sim.records;

import io.weir.sim.problem.MillisecondsParameter;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.time.Duration;
import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** The endpoints of {@code mvc-jdbc} and {@code mvc-jdbc-virtual}: the request's own thread does the work. */
@RestController
@ConditionalOnStack({Stack.MVC_JDBC, Stack.MVC_JDBC_VIRTUAL})
class BlockingRecordsController {

    private final JdbcRecords records;

    BlockingRecordsController(JdbcRecords records) {
        this.records = records;
    }

    @GetMapping("/records")
    List<StoredRecord> firstTen() {
        return records.firstTen();
    }

    @PostMapping("/records")
    @ResponseStatus(HttpStatus.CREATED)
    StoredRecord insert(@RequestBody NewRecord newRecord) {
        return records.insert(newRecord.validated());
    }

    @PutMapping("/records/{id}")
    StoredRecord update(@PathVariable long id, @RequestBody NewRecord newRecord) {
        return records.update(id, newRecord.validated());
    }

    @GetMapping("/records/slow")
    SleepAnswer slow(@RequestParam(defaultValue = "200") String ms) {
        return records.sleep(MillisecondsParameter.parse("ms", ms));
    }

    @GetMapping("/delay")
    SleepAnswer delay(@RequestParam(defaultValue = "200") String ms) throws InterruptedException {
        Duration time = MillisecondsParameter.parse("ms", ms);
        Thread.sleep(time);
        return new SleepAnswer(time.toMillis());
    }
}
