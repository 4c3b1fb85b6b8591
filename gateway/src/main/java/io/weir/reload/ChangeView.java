package io.weir.reload;

import java.util.List;
import java.util.Locale;

/**
 * A change as the endpoints show it.
 *
 * @param at when, in ISO 8601
 * @param trigger {@code watch}, {@code request} or {@code operator}
 * @param by the watch, or the address of who asked
 * @param differences what is different since
 * @param problems why it was refused; empty if it was not
 */
record ChangeView(String at, String trigger, String by, List<Difference> differences, List<String> problems) {

    static ChangeView of(ConfigurationChange change) {
        return new ChangeView(
                change.at().toString(),
                change.trigger().name().toLowerCase(Locale.ROOT),
                change.by(),
                change.differences(),
                change.problems());
    }
}
