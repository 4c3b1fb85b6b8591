package io.weir.perf.scenario;

import io.weir.perf.result.Requests;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;

/**
 * Groups of callers, such as classes or tenants, that send to one front at the same time. A field of each
 * request names its group, and so does its path.
 *
 * @param field the name of the field
 * @param perSecond the rate of each group
 */
record CallerGroups(String field, Map<String, Integer> perSecond) {

    /** The deadline of {@code config/local.yml}, and some time for the client. */
    static final Duration IN_TIME = Duration.ofSeconds(1);

    /** The requests of each group. */
    record GroupAnswers(Map<String, Requests> byGroup) {

        GroupAnswers sentBetween(long fromMillis, long toMillis) {
            return each(requests -> requests.sentBetween(fromMillis, toMillis));
        }

        /** The requests that ended by then: those that a rate counts. The others were still waiting. */
        GroupAnswers endedBefore(long toMillis) {
            return each(requests -> requests.where(one -> one.endMillis() < toMillis));
        }

        private GroupAnswers each(UnaryOperator<Requests> part) {
            Map<String, Requests> parts = new LinkedHashMap<>();
            byGroup.forEach((group, requests) -> parts.put(group, part.apply(requests)));
            return new GroupAnswers(parts);
        }

        private Requests of(String group) {
            return byGroup.getOrDefault(group, new Requests(List.of()));
        }

        /** The share of a group's requests that were answered in time, in percent. */
        double answeredPercent(String group) {
            Requests requests = of(group);
            return requests.isEmpty() ? 0 : 100 * requests.servedWithin(IN_TIME) / requests.size();
        }

        /** A group's requests that were answered in time. */
        double answered(String group) {
            return of(group).servedWithin(IN_TIME);
        }

        /** All requests that were answered in time. */
        double answered() {
            return byGroup.keySet().stream().mapToDouble(this::answered).sum();
        }

        long sent(String group) {
            return of(group).size();
        }
    }

    /** The same groups at another total rate. */
    CallerGroups times(double factor) {
        Map<String, Integer> other = new TreeMap<>();
        perSecond.forEach((group, rate) -> other.put(group, (int) Math.max(1, Math.round(factor * rate))));
        return new CallerGroups(field, other);
    }

    /** Sends to a front for a while; the result is complete when all answers have come. */
    CompletableFuture<GroupAnswers> send(int port, Duration time) {
        Map<String, CompletableFuture<Requests>> sent = new LinkedHashMap<>();
        perSecond.forEach((group, rate) -> sent.put(
                group,
                Scenario.load(port, "/mvc/" + group).withHeader(field, group).send(rate, time)));
        return CompletableFuture.allOf(sent.values().toArray(CompletableFuture<?>[]::new))
                .thenApply(_ -> {
                    Map<String, Requests> answers = new LinkedHashMap<>();
                    sent.forEach((group, requests) -> answers.put(group, requests.join()));
                    return new GroupAnswers(answers);
                });
    }
}
