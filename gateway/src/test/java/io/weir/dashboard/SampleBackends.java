package io.weir.dashboard;

import io.weir.management.BackendView;
import io.weir.management.BackendView.InstanceView;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Made-up backends for tests of the page: one of ten is in some trouble, and the figures of all change each
 * second. The same number of backends and second give the same figures.
 */
final class SampleBackends {

    private static final int SECONDS = BackendHistory.HISTORY_SECONDS;
    private static final int CUT_EVERY = 40;

    private SampleBackends() {}

    static List<LiveView.BackendSnapshot> snapshots(int count, long second) {
        List<LiveView.BackendSnapshot> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(snapshot(i, second));
        }
        return all;
    }

    static Map<String, LiveView.History> histories(int count) {
        Map<String, LiveView.History> all = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            all.put(name(i), history(i));
        }
        return all;
    }

    static String name(int i) {
        return "backend-%03d".formatted(i);
    }

    private static LiveView.BackendSnapshot snapshot(int i, long second) {
        Random random = new Random(1_000L * i + second);
        TestViews view = new TestViews()
                .uri("http://" + name(i) + ".internal:8080")
                .auto(12, 2, 100, 0.4)
                .calls(random.nextInt(12), 0)
                .arriving(20 + random.nextInt(5), 0);
        double trouble = 0;
        switch (i % 50) {
            case 13 -> {
                view.breaker("open", 0);
                trouble = 1;
            }
            case 21 -> trouble = 0.1 + random.nextInt(10) / 100.;
            case 34 -> view.calls(12, 1 + random.nextInt(9));
            case 42 -> view.instances(replicas());
            case 47 -> view.auto(2, 2, 100, 0.9).calls(random.nextInt(3), 0);
            default -> {
                // Calm.
            }
        }
        return snapshot(name(i), view.view(), trouble, 20 + random.nextInt(50) / 10., null);
    }

    private static List<InstanceView> replicas() {
        return List.of(
                TestViews.instance("http://10.0.0.1:8080", "closed"),
                TestViews.instance("http://10.0.0.2:8080", "open"),
                TestViews.instance("http://10.0.0.3:8080", "closed"));
    }

    /**
     * A snapshot.
     *
     * @param trouble share of the requests that were shed; 0 to 1
     * @param limitChange why the limit changed in the last second; null: it did not
     */
    static LiveView.BackendSnapshot snapshot(
            String name, BackendView now, double trouble, double rate, @Nullable String limitChange) {
        long all = Math.round(rate * SlidingWindow.SECONDS);
        Map<String, Long> outcomes = new LinkedHashMap<>();
        outcomes.put("2xx", Math.round(all * (1 - trouble)));
        if (trouble > 0) {
            outcomes.put("circuit-open", Math.round(all * trouble));
        }
        return new LiveView.BackendSnapshot(
                name,
                Severity.of(now, Math.round(all * trouble), all),
                new LiveView.Recent(
                        Math.round(rate),
                        Math.round(rate * trouble),
                        rate,
                        trouble,
                        outcomes,
                        new LiveView.Percentiles(31, 47 + rate, 80 + rate, 93 + rate),
                        750.,
                        1 + trouble,
                        limitChange),
                now);
    }

    /** Two minutes in which the limit grows, and is cut each forty seconds. */
    private static LiveView.History history(int i) {
        Random random = new Random(i);
        List<Integer> ended = new ArrayList<>();
        List<Integer> trouble = new ArrayList<>();
        List<Integer> limit = new ArrayList<>();
        List<Integer> active = new ArrayList<>();
        List<String> changes = new ArrayList<>();
        int now = 8;
        for (int second = 0; second < SECONDS; second++) {
            String word = LimitMovement.NONE;
            if (second % CUT_EVERY == CUT_EVERY - 1) {
                now = 6;
                word = "queueing";
            } else if (second % CUT_EVERY < 12 && second % 3 == 0) {
                now += 1 + random.nextInt(3);
                word = "growth";
            }
            ended.add(18 + random.nextInt(6));
            trouble.add(i % 50 == 13 ? 5 : 0);
            limit.add(now);
            active.add(random.nextInt(now));
            changes.add(word);
        }
        return new LiveView.History(ended, trouble, limit, active, changes);
    }

    /** A history without calls, of a limit that changed in these seconds. */
    static LiveView.History history(Map<Integer, Map.Entry<Integer, String>> changes) {
        List<Integer> limit = new ArrayList<>();
        List<String> words = new ArrayList<>();
        int now = 8;
        for (int second = 0; second < SECONDS; second++) {
            Map.Entry<Integer, String> change = changes.get(second);
            now = change == null ? now : change.getKey();
            limit.add(now);
            words.add(change == null ? LimitMovement.NONE : change.getValue());
        }
        List<Integer> none = Collections.nCopies(SECONDS, 0);
        return new LiveView.History(none, none, limit, Collections.nCopies(SECONDS, 5), words);
    }
}
