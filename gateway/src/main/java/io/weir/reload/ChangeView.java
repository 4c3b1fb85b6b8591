package io.weir.reload;

import io.weir.config.check.ConfigurationDifference.ChangedValue;
import java.util.List;
import java.util.Locale;

/**
 * A change as the endpoints show it.
 *
 * @param at the time of the change, in ISO 8601
 * @param trigger {@code watch}, {@code request}, {@code operator} or {@code expiry}
 * @param by the initiator: the file watch, or the address of the caller
 * @param differences the changed values
 * @param problems the reasons for the rejection; empty if the change was applied
 */
record ChangeView(String at, String trigger, String by, List<ChangedValue> differences, List<String> problems) {

    static ChangeView of(ConfigurationChange change) {
        return new ChangeView(
                change.at().toString(),
                change.trigger().name().toLowerCase(Locale.ROOT),
                change.by(),
                change.differences(),
                change.problems());
    }
}
