package io.weir.sim.records;

import io.weir.sim.problem.MillisecondsParameter;
import io.weir.sim.stack.ConditionalOnStack;
import io.weir.sim.stack.Stack;
import java.time.Duration;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The endpoints on which no server thread waits, in Spring MVC ({@code mvc-r2dbc}) and in WebFlux. */
@RestController
@ConditionalOnStack({Stack.MVC_R2DBC, Stack.WEBFLUX_JDBC, Stack.WEBFLUX_R2DBC})
class ReactiveRecordsController {

    private final ReactiveRecords records;

    ReactiveRecordsController(ReactiveRecords records) {
        this.records = records;
    }

    @GetMapping("/records")
    Flux<StoredRecord> firstTen() {
        return records.firstTen();
    }

    @PostMapping("/records")
    @ResponseStatus(HttpStatus.CREATED)
    Mono<StoredRecord> insert(@RequestBody NewRecord newRecord) {
        return records.insert(newRecord.validated());
    }

    @PutMapping("/records/{id}")
    Mono<StoredRecord> update(@PathVariable long id, @RequestBody NewRecord newRecord) {
        return records.update(id, newRecord.validated());
    }

    @GetMapping("/records/slow")
    Mono<SleepAnswer> slow(@RequestParam(defaultValue = "200") String ms) {
        return records.sleep(MillisecondsParameter.parse("ms", ms));
    }

    @GetMapping("/delay")
    Mono<SleepAnswer> delay(@RequestParam(defaultValue = "200") String ms) {
        Duration time = MillisecondsParameter.parse("ms", ms);
        return Mono.delay(time).thenReturn(new SleepAnswer(time.toMillis()));
    }
}
