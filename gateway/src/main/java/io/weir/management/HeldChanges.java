package io.weir.management;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Changes by operators, at most one of each subject. Immutable.
 *
 * @param all the changes, the oldest first
 */
public record HeldChanges(List<OperatorChange> all) {

    /** No changes. */
    public static final HeldChanges NONE = new HeldChanges(List.of());

    /** Properties behind breakers and instances, in the order of their names. */
    private static final Comparator<OperatorChange> SHOWN_ORDER = Comparator.comparing(
            change -> change.isOfProperty() ? change.subject().path() : "");

    /** Copies the list. */
    public HeldChanges {
        all = List.copyOf(all);
    }

    /** Whether there is no change. */
    public boolean isEmpty() {
        return all.isEmpty();
    }

    /** These changes and others, which replace those of the same subject. */
    public HeldChanges with(Collection<OperatorChange> others) {
        Set<OperatorChange.Subject> replaced =
                others.stream().map(OperatorChange::subject).collect(Collectors.toSet());
        Stream<OperatorChange> kept = all.stream().filter(change -> !replaced.contains(change.subject()));
        return new HeldChanges(Stream.concat(kept, others.stream()).toList());
    }

    /** Those of these changes that are not among others. */
    public HeldChanges without(HeldChanges others) {
        Set<OperatorChange> removed = new HashSet<>(others.all);
        return only(change -> !removed.contains(change));
    }

    /** The changes of properties. */
    public HeldChanges ofProperties() {
        return only(OperatorChange::isOfProperty);
    }

    /** The changes of some backends. */
    public HeldChanges ofBackends(Set<String> names) {
        return only(change -> names.contains(change.subject().backend()));
    }

    /** The changes of all other backends. */
    public HeldChanges withoutBackends(Set<String> names) {
        return only(change -> !names.contains(change.subject().backend()));
    }

    /** The changes whose time is over. */
    public HeldChanges over(long nowNanos) {
        return only(change -> change.isOver(nowNanos));
    }

    HeldChanges only(Predicate<OperatorChange> wanted) {
        return new HeldChanges(all.stream().filter(wanted).toList());
    }

    /** The backends that these changes are of. */
    public Set<String> backends() {
        return all.stream().map(change -> change.subject().backend()).collect(Collectors.toCollection(TreeSet::new));
    }

    /** The names of these changes' operators. */
    public String operators() {
        return all.stream().map(OperatorChange::by).distinct().sorted().collect(Collectors.joining(", "));
    }

    /** One line for each property. */
    public List<String> lines() {
        return all.stream()
                .sorted(SHOWN_ORDER)
                .map(change -> change.subject().path() + ": " + change.value() + ", set by " + change.by())
                .toList();
    }

    /** The changes by backend, for operators. */
    public Map<String, List<OperatorChangeView>> views() {
        return all.stream()
                .sorted(SHOWN_ORDER)
                .collect(Collectors.groupingBy(
                        change -> change.subject().backend(),
                        HashMap::new,
                        Collectors.mapping(OperatorChange::view, Collectors.toList())));
    }
}
