package io.weir.config.check;

import io.weir.config.check.PropertySchema.GroupListSchema;
import io.weir.config.check.RawTree.Setting;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;

/** Checks the elements of a list of records, apart from their properties. */
final class GroupListCheck {

    private GroupListCheck() {}

    /**
     * The elements of a list by their index; empty if the list is not valid. Spring Boot takes a list from
     * one source, so a list in several sources is refused.
     *
     * @param nodes all spellings of the list's path
     */
    static SortedMap<Integer, List<RawTree>> elements(
            GroupListSchema list, List<RawTree> nodes, Consumer<ConfigurationProblem> problems) {
        TreeMap<Integer, List<RawTree>> byIndex = new TreeMap<>();
        String expected = "a list, each element with properties: "
                + String.join(", ", list.element().names());
        for (RawTree node : nodes) {
            node.settings().stream()
                    .filter(setting -> !setting.text().isEmpty())
                    .forEach(setting -> problems.accept(setting.expected(expected)));
            node.children().forEach(child -> {
                if (child.isIndex()) {
                    byIndex.computeIfAbsent(Integer.valueOf(child.name()), any -> new ArrayList<>())
                            .add(child);
                } else {
                    problems.accept(child.expected(expected));
                }
            });
        }
        int next = 0;
        for (Map.Entry<Integer, List<RawTree>> element : byIndex.entrySet()) {
            if (element.getKey() != next++) {
                return refused(
                        element.getValue().getFirst(),
                        "expected: an element [" + (next - 1) + "] before this one",
                        problems);
            }
        }
        if (sources(byIndex) > 1) {
            return refused(
                    byIndex.firstEntry().getValue().getFirst(),
                    "the list is in several sources; expected: the whole list in one",
                    problems);
        }
        return byIndex;
    }

    private static SortedMap<Integer, List<RawTree>> refused(
            RawTree at, String why, Consumer<ConfigurationProblem> problems) {
        problems.accept(at.problem(why));
        return new TreeMap<>();
    }

    private static long sources(SortedMap<Integer, List<RawTree>> byIndex) {
        return byIndex.values().stream()
                .flatMap(List::stream)
                .flatMap(RawTree::allSettings)
                .mapToInt(Setting::precedence)
                .distinct()
                .count();
    }
}
